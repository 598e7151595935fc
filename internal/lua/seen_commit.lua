-- Remembers what was reserved as done.
-- USES clock seen
-- KEYS seen (hash, see prelude_seen.lua)
-- ARGV token; keep_ms (so long it is remembered)
-- RETURNS state (SeenState in seen.go)
-- TTL seen: keep_ms and 150 s
-- COST O(1): HMGET, and when it is held HDEL, HSET and PEXPIRE
local s = seen_read()
local found = seen_state(s, ARGV[1], '')
if found == 1 then
  local done = now + tonumber(ARGV[2]) * 1000
  seen_end(s)
  redis.call('HSET', KEYS[1], 'done', done)
  seen_keep(done)
end
return {found}
