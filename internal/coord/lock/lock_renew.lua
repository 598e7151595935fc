-- Renews a lock that the token holds. It does not revive a lock that expired or was released.
-- USES clock lock
-- KEYS lock
-- ARGV token; ttl_ms; session
-- RETURNS state; fence; ttl_ms; final
-- TTL lock: what the owner has left, and 150 s
-- COST O(1), 8 us: HMGET, and when owned HSET and PEXPIRE
local lock = lock_read(lock_key)
local state = lock_state(lock, token, session)
if state == 1 then
  redis.call('HSET', lock_key, 'until', lock_until(lock, ttl_ms, session == ''))
  lock_remember(lock_key, lock)
end
if state ~= 1 and state ~= 4 then return {state = state} end
return {state = state, fence = lock.fence, ttl_ms = lock_left_ms(lock), final = lock_final(lock)}
