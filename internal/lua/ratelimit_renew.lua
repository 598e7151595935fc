-- Extends the lease of a grant, or has another session hold it.
-- USES clock leases
-- KEYS leases (sorted set, see prelude_leases.lua); holders (hash)
-- ARGV id (the grant's); session (id, empty = none); hold_ms (how long it lives from now on, unless it lives longer anyway);
--      move (1 = whoever held it, session does now); client (any bytes, of who it moves to); instance (any bytes)
-- RETURNS state (SeatState in ratelimit_seat.go)
-- TTL leases, holders: as long as the last lease
-- COST O(log leases): ZSCORE, HGET, and when it is held ZADD, PEXPIRE, and HSET when it moves
local id, session, move = ARGV[1], ARGV[2], ARGV[4] == '1'
local found, ends = leases_state(KEYS[1], KEYS[2], id, move and '' or session)
if found ~= 1 then return {found} end
ends = math.max(ends, now + tonumber(ARGV[3]) * 1000)
if move then
  leases_take(KEYS[1], KEYS[2], id, ends, session, ARGV[5], ARGV[6])
else
  redis.call('ZADD', KEYS[1], ends, id)
  leases_keep(KEYS[1], KEYS[2])
end
return {1}
