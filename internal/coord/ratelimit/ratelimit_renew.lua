-- Extends the permit of a grant, or moves it to another session.
-- USES clock leases
-- KEYS leases; holders
-- ARGV id; session; hold_ms; move; client; instance
-- RETURNS state
-- TTL leases, holders: as long as the last lease
-- COST O(log leases), 20 us: ZSCORE, HGET, and when it is held ZADD, PEXPIRE, and HSET when it moves
local state, ends = leases_state(leases_key, holders_key, id, move and '' or session)
if state ~= 1 then return state end
ends = math.max(ends, now + hold_ms * 1000)
if move then
  leases_take(leases_key, holders_key, id, ends, session, client, instance)
else
  redis.call('ZADD', leases_key, ends, id)
  leases_keep(leases_key, holders_key)
end
return 1
