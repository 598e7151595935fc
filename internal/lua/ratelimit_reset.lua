-- Forgets a limit's state, and has every sidecar forget what it remembers of it.
-- USES
-- KEYS state (any type)
-- ARGV channel (of the broadcast)
-- RETURNS reset (1 = there was one)
-- TTL none is written
-- COST O(size of the state): DEL and PUBLISH
local was = redis.call('DEL', KEYS[1])
-- Also when there was none: the reply of an earlier run may have been lost. Who
-- may not publish has reset all the same: caches end by themselves.
redis.pcall('PUBLISH', ARGV[1], table.concat({'reset ', KEYS[1]}))
return {was}
