-- Extends a reservation, or has another session hold it; never revives one that has ended.
-- USES clock seen
-- KEYS seen (hash, see prelude_seen.lua)
-- ARGV token; session (id, empty = any, or none for move); ttl_ms (from now; never shortens); move (1 = session holds it now)
-- RETURNS state (SeenState in seen.go)
-- TTL seen: what the reservation has left, and 150 s
-- COST O(1): HMGET, and when it is held HSET and PEXPIRE
local s, move = seen_read(), ARGV[4] == '1'
local found = seen_state(s, ARGV[1], move and '' or ARGV[2])
if found == 1 then
  local ends = math.max(s.ends, now + tonumber(ARGV[3]) * 1000)
  redis.call('HSET', KEYS[1], 'until', ends, 'session', move and ARGV[2] or s.session)
  seen_keep(ends)
end
return {found}
