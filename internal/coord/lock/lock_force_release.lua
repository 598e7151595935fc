-- Frees a lock whoever holds it, tells every sidecar, and whose turn it is. Repeated by its stored reply it frees nobody else's.
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
-- Its token did not give it back: last stays.
lock_free(lock_key, lock)
lock_remember(lock_key, lock)
return found, true
-- AFTER
-- Whatever was found: the messages of an earlier run may have been lost.
redis.pcall('PUBLISH', channel, table.concat({'forced ', lock_key}))
line_wake(line_key, heartbeats_key, inboxes)
