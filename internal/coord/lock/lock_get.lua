-- Reads a lock.
-- USES clock lock
-- KEYS lock; line
-- ARGV
-- RETURNS held; fence; ttl_ms; client; instance; since_ms; token; last_token; waiting; meta; final
-- TTL none is written
-- COST O(1): HMGET, ZCARD
local lock = lock_read(lock_key)
local waiting = redis.call('ZCARD', line_key)
if not lock.held then return {fence = lock.fence, last_token = lock.last, waiting = waiting} end
return {
  held = true, fence = lock.fence, ttl_ms = lock_left_ms(lock), client = lock.client, instance = lock.instance,
  since_ms = math.floor(lock.since / 1000), token = lock.token, last_token = lock.last, waiting = waiting, meta = lock.meta,
  final = lock_final(lock),
}
