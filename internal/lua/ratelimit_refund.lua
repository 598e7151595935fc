-- Gives back what a grant took, once, as far as it still counts.
-- USES clock muldiv lifetime bands state credit bucket bucket_credit gcra leaky leaky_credit window window_credit log counter
-- KEYS state (of its algorithm); marker (string, that the grant was refunded)
-- ARGV algorithm; id (of the charge); cost (that was charged); at_us (when it was let through)
-- RETURNS state (1 = refunded; 2 = it was before; 0 = nothing of it counts any more, or nothing is known of it)
-- TTL state: as with a charge of its algorithm; marker: until nothing of the grant can count, at least 150 s
-- COST O(bands + entries of a log after it, at most 1,000): EXISTS, HMGET, and when it refunds HSET, SET and PEXPIRE
if redis.call('EXISTS', KEYS[2]) == 1 then return {2} end
local algorithm, cost, at = ARGV[1], tonumber(ARGV[3]), tonumber(ARGV[4])

-- refunded is how long (ms) any of the grant can count, or false when none was refunded.
local function refunded()
  if algorithm == 'sliding_window_log' then return log_refund(ARGV[2], at) and redis.call('PTTL', KEYS[1]) end
  if algorithm == 'sliding_window_counter' then return counter_credit(cost, at) and redis.call('PTTL', KEYS[1]) end
  local a = ({token_bucket = bucket, leaky_bucket = leaky, fixed_window = window})[algorithm]
  local s = a.open(stored(a, '', -1))
  -- A state that began later, by a reset or with other bands, does not count it.
  if s.had == 0 or s.from > at or not a.refund(s, cost, at) then return false end
  a.keep(s)
  -- As far as an instant can be told: a TTL beyond is none.
  return lifetime_ms(math.min(a.outlives(s, cost, at), 9007199254740991))
end

local ms = refunded()
if not ms then return {0} end
redis.call('SET', KEYS[2], '', 'PX', math.max(ms, 150000))
return {1}
