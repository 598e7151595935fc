-- Grants permits of a semaphore, all or none. A refusal returns how many are free, and may enter the caller into the waiting line.
-- USES clock line leases permits
-- KEYS leases; holders; weights; line; heartbeats; gone
-- ARGV token; limit; permits; ttl_ms; session; client; instance; meta; max_hold_ms; waiter; heartbeat_ms; inboxes
-- RETURNS acquired; fence; ttl_ms; final; free; wait_us; first; more
-- TTL leases, holders, weights: as long as the last lease, and 150 s; line, heartbeats: heartbeat_ms and 60 s
-- COST O(log leases + different weights + ended leases + dead waiters)
local mine = permits_of(semaphore, token)
-- A key of another type fails before anything is written.
redis.call('ZCARD', semaphore.weights)
redis.call('ZCARD', heartbeats_key)
redis.call('GET', gone_key)
line_hear(line_key, heartbeats_key, waiter, heartbeat_ms)
local head = line_head(line_key, heartbeats_key)
local first = not head or waiter ~= '' and head == waiter
local held, more = permits_held(semaphore)
local free = math.max(0, limit - held)
if more then return {free = free, first = first, more = true} end
if not mine and (not first or free < permits) then
  local wait_us = free < permits and math.max(1, permits_end(semaphore, permits - limit + held) - now) or 0
  if waiter ~= '' and heartbeat_ms > 0 then
    line_enter(line_key, heartbeats_key, waiter, heartbeat_ms)
  elseif waiter ~= '' and redis.call('ZREM', line_key, waiter) == 1 and free > 0 then
    -- The caller that leaves may have held up callers behind it that ask for fewer permits.
    line_wake(line_key, heartbeats_key, inboxes)
  end
  return {free = free, wait_us = wait_us, first = first}
end
if not mine then
  mine = {
    ends = 0, since = now, permits = permits, max = max_hold_ms > 0 and now + max_hold_ms * 1000 or 0,
    fence = math.max(tonumber(redis.call('HGET', semaphore.holders, '') or 0) + 1, now),
  }
  redis.call('HSET', semaphore.holders, '', mine.fence)
  -- The token holds permits again: the mark that it gave some back no longer applies.
  redis.call('DEL', gone_key)
  free = free - permits
end
mine.session, mine.client, mine.instance, mine.meta = session, client, instance, meta
permits_keep(semaphore, token, mine, ttl_ms)
if waiter ~= '' then redis.call('ZREM', line_key, waiter) end
if free > 0 then line_wake(line_key, heartbeats_key, inboxes) end
return {
  acquired = true, fence = mine.fence, ttl_ms = permits_left_ms(mine), final = permits_final(mine), free = free, first = first,
}, true
