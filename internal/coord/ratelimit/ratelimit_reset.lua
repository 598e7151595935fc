-- Deletes a limit's state, and notifies every sidecar, which then forgets what it remembers of it.
-- USES
-- KEYS state
-- ARGV channel
-- RETURNS reset
-- TTL none is written
-- COST O(size of the state): DEL and PUBLISH
local was = redis.call('DEL', state_key)
-- It publishes even if there was no state, since the reply of an earlier run may have been lost. An ACL that forbids
-- PUBLISH does not fail the reset: what sidecars remember expires by itself.
redis.pcall('PUBLISH', channel, table.concat({'reset ', state_key}))
return was == 1
