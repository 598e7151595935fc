-- Ends the pause of a key and forgets its penalty, and tells every sidecar. Its delays stay.
-- USES clock gate
-- KEYS gate
-- ARGV channel
-- RETURNS resumed
-- TTL gate: until nothing of it matters, and 1 s
-- COST O(sources of delays): HMGET, HDEL, and with delays HSET and PEXPIRE; PUBLISH
local g = gate_read(gate_key)
local resumed = g.pause > now
if g.ends > 0 then
  redis.call('HDEL', gate_key, 'penalty', 'level')
  if g.delay > 0 then
    g.over = true
    gate_keep(gate_key, g)
  else
    redis.call('DEL', gate_key)
  end
end
-- Also when there was none: the reply of an earlier run may have been lost. Who
-- may not publish has resumed all the same: caches end by themselves.
redis.pcall('PUBLISH', channel, table.concat({'resume ', gate_key}))
return resumed
