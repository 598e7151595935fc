-- Gives back what a grant took, as far as it still counts, and only once.
-- USES clock texts muldiv lifetime bands state credit bucket bucket_credit gcra leaky leaky_credit window window_credit log counter
-- KEYS state; marker
-- ARGV algorithm; id; cost; at_us
-- RETURNS state
-- TTL state: as with a charge of its algorithm; marker: until nothing of the grant can count, at least 150 s
-- COST O(bands + entries of a log after it, at most 1,000): EXISTS, HMGET, and when it refunds HSET, SET and PEXPIRE
if redis.call('EXISTS', marker_key) == 1 then return 2 end

-- refunded refunds the grant. It returns how long (ms) any part of the grant can count, or false if nothing was refunded.
local function refunded()
  if algorithm == 'sliding_window_log' then return log_refund(state_key, id, at_us) and redis.call('PTTL', state_key) end
  if algorithm == 'sliding_window_counter' then return counter_credit(state_key, cost, at_us) and redis.call('PTTL', state_key) end
  local a = ({token_bucket = bucket, leaky_bucket = leaky, fixed_window = window})[algorithm]
  local s = a.open(stored(state_key, a, '', -1))
  -- A state that began later, by a reset or with other bands, does not count the grant.
  if s.had == 0 or s.from > at_us or not a.refund(s, cost, at_us) then return false end
  a.keep(s)
  -- The bound is the largest integer that a number of Lua holds exactly (2^53 - 1).
  return lifetime_ms(math.min(a.outlives(s, cost, at_us), 9007199254740991))
end

local ms = refunded()
if not ms then return 0 end
redis.call('SET', marker_key, '', 'PX', math.max(ms, 150000))
return 1
