-- Makes all views look at a member again.
-- USES clock line pool pool_wake
-- KEYS order; meta; changes; members; tokens; state; heads; breakers
-- ARGV member; inboxes
-- RETURNS found; changed
-- TTL changes, state: none
-- COST O(lines): HEXISTS, ZADD and PUBLISH for each line
if redis.call('HEXISTS', pool.members, member) == 0 then return {} end
pool_changed(pool, member)
pool_wake(pool, inboxes)
return {found = true, changed = true}
