-- Has all views look at a member again.
-- USES clock line pool pool_wake
-- KEYS order (sorted set, as the others see prelude_pool.lua); meta (hash); changes (sorted set); members (hash);
--      tokens (hash); state (hash); heads (sorted set); breakers (hash)
-- ARGV member; inboxes (what the names of the sidecars' channels begin with)
-- RETURNS found (1 = there is such a member); changed (the same)
-- TTL changes, state: none
-- COST O(lines): HEXISTS, ZADD and PUBLISH for each line
if redis.call('HEXISTS', MEMBERS, ARGV[1]) == 0 then return {0, 0} end
pool_changed(ARGV[1])
pool_wake(ARGV[2])
return {1, 1}
