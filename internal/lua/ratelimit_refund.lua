-- Gives back what a grant took, once, as far as it still counts.
-- USES clock muldiv lifetime bands state credit bucket bucket_credit gcra leaky leaky_credit window window_credit
-- KEYS state (of its algorithm); marker (string, that the grant was refunded)
-- ARGV algorithm; id (of the charge); cost (that was charged); at_us (when it was let through)
-- RETURNS state (1 = refunded; 2 = it was before; 0 = nothing of it counts any more, or nothing is known of it)
-- TTL state: as with a charge of its algorithm; marker: until nothing of the grant can count, at least 150 s
-- COST O(bands): EXISTS, HMGET, and when it refunds HSET, SET and PEXPIRE
if redis.call('EXISTS', KEYS[2]) == 1 then return {2} end
local cost, at = tonumber(ARGV[3]), tonumber(ARGV[4])
local a = ({token_bucket = bucket, leaky_bucket = leaky, fixed_window = window})[ARGV[1]]
local s = a.open(stored(a, '', -1))
-- A state that began later, by a reset or with other bands, does not count it.
if s.had == 0 or s.from > at or not a.refund(s, cost, at) then return {0} end
a.keep(s)
redis.call('SET', KEYS[2], '', 'PX', math.max(lifetime_ms(a.outlives(s, cost, at)), 150000))
return {1}
