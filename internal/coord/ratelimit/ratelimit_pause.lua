-- Refuses a key until an instant, and tells every sidecar. Of several pauses the longest counts.
-- USES clock gate
-- KEYS gate
-- ARGV for_us; until_us; longest_us; why; channel
-- RETURNS until_us; changed; now_us
-- TTL gate: until nothing of it matters, and 1 s
-- COST O(sources of delays): HMGET, and when it is the longest HSET, PEXPIRE and PUBLISH
local till = for_us > 0 and now + for_us or until_us
if till > now + longest_us then return {until_us = -1, now_us = now} end
local g = gate_read(gate_key)
if till <= now or till <= g.pause then return {until_us = g.pause > now and g.pause or 0, now_us = now} end
g.pause, g.over, g.ends = till, false, math.max(g.ends, till)
redis.call('HSET', gate_key, 'pause', till, 'why', why)
gate_keep(gate_key, g)
redis.pcall('PUBLISH', channel, table.concat({'pause ', gate_key}))
return {until_us = till, changed = true, now_us = now}
