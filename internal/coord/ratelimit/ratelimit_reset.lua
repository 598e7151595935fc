-- Forgets a limit's state, and has every sidecar forget what it remembers of it.
-- USES
-- KEYS state
-- ARGV channel
-- RETURNS reset
-- TTL none is written
-- COST O(size of the state): DEL and PUBLISH
local was = redis.call('DEL', state_key)
-- Also when there was none: the reply of an earlier run may have been lost. Who
-- may not publish has reset all the same: caches end by themselves.
redis.pcall('PUBLISH', channel, table.concat({'reset ', state_key}))
return was == 1
