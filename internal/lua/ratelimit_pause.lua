-- Refuses a key until an instant, and tells every sidecar. Of several pauses the longest counts.
-- USES clock gate
-- KEYS gate (hash, see prelude_gate.lua)
-- ARGV for_us (from now; 0 = until_us says); until_us; longest_us (how far away it may end); why (text); channel (of the broadcast)
-- RETURNS until_us (when the longest ends, 0 = none is in force, -1 = too far away: nothing was done); changed (1 = it is this one);
--      now_us
-- TTL gate: until nothing of it matters, and 1 s
-- COST O(sources of delays): HMGET, and when it is the longest HSET, PEXPIRE and PUBLISH
local from_now, till = tonumber(ARGV[1]), tonumber(ARGV[2])
if from_now > 0 then till = now + from_now end
if till > now + tonumber(ARGV[3]) then return {-1, 0, now} end
local g = gate(KEYS[1])
if till <= now or till <= g.pause then return {g.pause > now and g.pause or 0, 0, now} end
g.pause, g.over, g.ends = till, false, math.max(g.ends, till)
redis.call('HSET', KEYS[1], 'pause', till, 'why', ARGV[4])
gate_keep(KEYS[1], g)
redis.pcall('PUBLISH', ARGV[5], table.concat({'pause ', KEYS[1]}))
return {till, 1, now}
