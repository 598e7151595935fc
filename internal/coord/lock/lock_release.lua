-- Releases a lock if the token holds it, removes a waiter from the waiting line, and wakes the next waiter if the lock is free.
-- USES clock lock line
-- KEYS lock; line; heartbeats
-- ARGV token; session; waiter; inboxes
-- RETURNS state
-- TTL lock: 150 s; line, heartbeats: unchanged
-- COST O(1 + dead waiters), 13 us: HMGET, and when owned HDEL, HSET, PEXPIRE, ZRANGE and PUBLISH
local lock = lock_read(lock_key)
local state = token == '' and 0 or lock_state(lock, token, session)
local left = waiter ~= '' and redis.call('ZREM', line_key, waiter) == 1
if state == 1 then
  lock_free(lock_key, lock)
  redis.call('HSET', lock_key, 'last', lock.token)
  lock_remember(lock_key, lock)
end
if state == 1 or left and not lock.held then line_wake(line_key, heartbeats_key, inboxes) end
return state
