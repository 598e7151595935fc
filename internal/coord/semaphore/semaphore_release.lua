-- Gives back the permits of one token, removes a waiter from the waiting line, or both, and wakes the next waiter.
-- USES clock line leases permits
-- KEYS leases; holders; weights; line; heartbeats; gone
-- ARGV token; session; waiter; inboxes
-- RETURNS state
-- TTL leases, holders, weights: of those that are left, as long as the last, and 150 s; gone: 150 s; line, heartbeats: unchanged
-- COST O(log leases + dead waiters), 31 us: ZSCORE, HGET, and when it is held ZREM, HDEL, SET, PEXPIRE, ZRANGE and PUBLISH
local mine = token ~= '' and permits_of(semaphore, token)
local state = 0
if mine then
  state = (session == '' or mine.session == session) and 1 or 2
elseif token ~= '' and redis.call('GET', gone_key) then
  state = 3
end
-- A key of another type fails before anything is written.
redis.call('ZCARD', semaphore.weights)
redis.call('ZCARD', heartbeats_key)
-- The waiter may have been the first in the line while permits are free for the next one.
local left = waiter ~= '' and redis.call('ZREM', line_key, waiter) == 1
if state == 1 then
  redis.call('ZREM', semaphore.leases, token)
  redis.call('HDEL', semaphore.holders, token)
  redis.call('ZREM', semaphore.weights, token)
  permits_remember(semaphore)
  -- If the acquisition or this release is repeated later, this mark shows that the permits were given back.
  redis.call('SET', gone_key, string.format('%.0f', mine.fence), 'PX', MEMORY_MS)
end
if state == 1 or left then line_wake(line_key, heartbeats_key, inboxes) end
return state
