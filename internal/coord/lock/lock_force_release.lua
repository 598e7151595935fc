-- Frees a lock, whichever token holds it, notifies all sidecars and wakes the next waiter. The stored reply keeps a repeated call
-- from freeing the next owner's lock.
-- USES clock lock line
-- KEYS lock; line; heartbeats
-- ARGV inboxes; channel
-- RETURNS released; fence; client; instance; since_ms; meta
-- TTL lock: 150 s; line, heartbeats: unchanged
-- COST O(1 + dead waiters): HMGET, and when it was held HDEL, PEXPIRE, ZRANGE and PUBLISH
local lock = lock_read(lock_key)
-- A key of another type fails before anything is written.
redis.call('ZCARD', line_key)
redis.call('ZCARD', heartbeats_key)
if not lock.held then return {} end
local found = {
  released = true, fence = lock.fence, client = lock.client, instance = lock.instance, since_ms = math.floor(lock.since / 1000),
  meta = lock.meta,
}
-- last is unchanged: the owner did not release the lock itself.
lock_free(lock_key, lock)
lock_remember(lock_key, lock)
return found, true
-- AFTER
-- The messages are sent in every case, since those of an earlier run may have been lost.
redis.pcall('PUBLISH', channel, table.concat({'forced ', lock_key}))
line_wake(line_key, heartbeats_key, inboxes)
