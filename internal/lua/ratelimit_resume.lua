-- Ends the pause of a key and forgets its penalty, and tells every sidecar. Its delays stay.
-- USES clock gate
-- KEYS gate (hash, see prelude_gate.lua)
-- ARGV channel (of the broadcast)
-- RETURNS resumed (1 = it was paused)
-- TTL gate: until nothing of it matters, and 1 s
-- COST O(sources of delays): HMGET, HDEL, and with delays HSET and PEXPIRE; PUBLISH
local g = gate(KEYS[1])
local resumed = g.pause > now and 1 or 0
if g.ends > 0 then
  redis.call('HDEL', KEYS[1], 'penalty', 'level')
  if g.delay > 0 then
    g.over = true
    gate_keep(KEYS[1], g)
  else
    redis.call('DEL', KEYS[1])
  end
end
-- Also when there was none: the reply of an earlier run may have been lost. Who
-- may not publish has resumed all the same: caches end by themselves.
redis.pcall('PUBLISH', ARGV[1], table.concat({'resume ', KEYS[1]}))
return {resumed}
