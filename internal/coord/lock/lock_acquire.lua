-- Grants a lock, or returns its holder and gives a caller that waits a ticket in the lock's waiting line.
-- USES clock lock line
-- KEYS lock; line; heartbeats
-- ARGV token; ttl_ms; session; client; instance; waiter; heartbeat_ms; max_hold_ms; meta
-- RETURNS acquired; fence; ttl_ms; client; instance; since_ms; first; meta; final
-- TTL lock: what the owner has left, and 150 s; line, heartbeats: heartbeat_ms and 60 s
-- COST O(1 + dead waiters), 29 us: HMGET, ZRANGE, when granted HSET and PEXPIRE, when it waits ZADD, ZSCORE and PEXPIRE
local lock = lock_read(lock_key)
line_hear(line_key, heartbeats_key, waiter, heartbeat_ms)
local head = line_head(line_key, heartbeats_key)
local first = not head or waiter ~= '' and head == waiter
if lock.held and lock.token ~= token or not lock.held and not first then
  if waiter ~= '' and heartbeat_ms > 0 then
    line_enter(line_key, heartbeats_key, waiter, heartbeat_ms)
  elseif waiter ~= '' then
    redis.call('ZREM', line_key, waiter)
  end
  -- The lock is free and the waiting line is in the way: there is no holder to return.
  if not lock.held then return {first = first} end
  return {
    ttl_ms = lock_left_ms(lock), client = lock.client, instance = lock.instance, since_ms = math.floor(lock.since / 1000),
    first = first, meta = lock.meta,
  }
end
-- A new owner gets a new fence, higher than the last one and at least the clock; an owner that asks again keeps its own.
if not lock.held then
  lock.fence, lock.ends, lock.since = math.max(lock.fence + 1, now), 0, now
  lock.max = max_hold_ms > 0 and now + max_hold_ms * 1000 or 0
  -- last is the token that was released last. This one is the owner again, so it does not count as released.
  if lock.last == token then lock.last = '' end
  lock.held = true
end
redis.call('HSET', lock_key, 'token', token, 'until', lock_until(lock, ttl_ms), 'fence', lock.fence,
  'session', session, 'client', client, 'instance', instance, 'since', lock.since, 'last', lock.last, 'max', lock.max, 'meta', meta)
lock_remember(lock_key, lock)
if waiter ~= '' then redis.call('ZREM', line_key, waiter) end
return {
  acquired = true, fence = lock.fence, ttl_ms = lock_left_ms(lock), client = client, instance = instance,
  since_ms = math.floor(lock.since / 1000), first = first, meta = meta, final = lock_final(lock),
}, true
