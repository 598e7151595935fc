-- Reads a lock and its waiting line.
-- USES clock lock line line_view
-- KEYS lock; line; heartbeats
-- ARGV
-- RETURNS held; fence; ttl_ms; client; instance; since_ms; meta; bound; max_ms; waiting; standing; then; sidecar; waiting; left_us
-- TTL none is written
-- COST O(waiters, 1,000 at most): HMGET, ZRANGE, ZCARD, ZSCORE
local lock = lock_read(lock_key)
local waiting, standing = line_view(line_key, heartbeats_key)
if not lock.held then return {waiting = waiting, standing = standing} end
return {
  held = true, fence = lock.fence, ttl_ms = lock_left_ms(lock), client = lock.client, instance = lock.instance,
  since_ms = math.floor(lock.since / 1000), meta = lock.meta, bound = lock.session ~= '', max_ms = math.floor(lock.max / 1000),
  waiting = waiting, standing = standing,
}
