-- Frees the lease of a grant, gives up a place in the line, and tells whose turn it is.
-- USES clock line leases
-- KEYS leases; holders; line; heartbeats
-- ARGV id; session; waiter; inboxes
-- RETURNS state
-- TTL leases, holders: of those that are left, as long as the last; line, heartbeats: unchanged
-- COST O(log leases + ended leases + dead waiters), 13 us: ZSCORE, HGET, and when it is held ZREM, HDEL, PEXPIRE, ZRANGE and PUBLISH
-- A key of another type fails before anything is written.
redis.call('ZCARD', line_key)
redis.call('ZCARD', heartbeats_key)
local state = id == '' and 0 or leases_state(leases_key, holders_key, id, session)
-- It may have been the first in the line, with something free for the next.
local left = waiter ~= '' and redis.call('ZREM', line_key, waiter) == 1
if state == 1 then leases_free(leases_key, holders_key, id) end
if state == 1 or left then line_wake(line_key, heartbeats_key, inboxes) end
return state
