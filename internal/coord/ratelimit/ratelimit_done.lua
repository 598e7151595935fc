-- Releases the permit of a grant, removes a ticket from the waiting line, and wakes the next call in it.
-- USES clock line leases
-- KEYS leases; holders; line; heartbeats
-- ARGV id; session; waiter; inboxes
-- RETURNS state
-- TTL leases, holders: of those that are left, as long as the last; line, heartbeats: unchanged
-- COST O(log leases + ended leases + dead waiters), 13 us: ZSCORE, HGET, and when it is held ZREM, HDEL, PEXPIRE, ZRANGE and PUBLISH
-- Read first, so that a key of another type fails the script before any write.
redis.call('ZCARD', line_key)
redis.call('ZCARD', heartbeats_key)
local state = id == '' and 0 or leases_state(leases_key, holders_key, id, session)
-- The waiter may have been the first in the line while a permit is free for the next one.
local left = waiter ~= '' and redis.call('ZREM', line_key, waiter) == 1
if state == 1 then leases_free(leases_key, holders_key, id) end
if state == 1 or left then line_wake(line_key, heartbeats_key, inboxes) end
return state
