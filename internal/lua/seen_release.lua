-- Gives a reservation up.
-- USES clock seen
-- KEYS seen (hash, see prelude_seen.lua)
-- ARGV token; session (id, empty = any)
-- RETURNS state (SeenState in seen.go)
-- TTL seen: 150 s
-- COST O(1): HMGET, and when it is held HDEL, HSET and PEXPIRE
local s = seen_read()
local found = seen_state(s, ARGV[1], ARGV[2])
if found == 1 then
  seen_end(s)
  seen_keep(now)
end
return {found}
