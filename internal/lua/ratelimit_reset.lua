-- Forgets a limit's state.
-- USES
-- KEYS state (any type)
-- ARGV
-- RETURNS reset (1 = there was one)
-- TTL none is written
-- COST O(size of the state): DEL
return {redis.call('DEL', KEYS[1])}
