-- Takes the first entry of a queue if it is the caller's turn; otherwise it may enter the caller into the waiting line.
-- USES clock queue queue_tidy queue_lease line
-- KEYS order; entries; bodies; expiry; leased; holders; line; heartbeats; taken
-- ARGV lease; lease_ms; session; keep_ms; waiter; heartbeat_ms; inboxes
-- RETURNS found; id; attempt; came_ms; depth; lease_ends_ms; first; more; returned; expired; body
-- TTL as queue_enqueue; taken: keep_ms; line, heartbeats: heartbeat_ms and 60 s
-- COST O(log entries + dead waiters + ended leases and expired entries, 1,000 at most): HGET, ZRANGE, ZREM, HSET, PEXPIRE
queue_read(queue)
redis.call('ZCARD', heartbeats_key)
-- A repeated run returns the entry that the same lease took before.
local had, taken = queue_lease_find(queue, lease), redis.call('HMGET', taken_key, 'id', 'entry', 'body')
if had or taken[1] then
  local e = had or entry_of(taken[1], taken[2])
  return {
    found = true, id = e.id, attempt = e.tries + (had and 0 or 1), came_ms = math.floor(e.came / 1000),
    depth = redis.call('ZCARD', queue.order), first = true,
    text = had and redis.call('HGET', queue.bodies, e.id) or taken[3],
  }, true
end
line_hear(line_key, heartbeats_key, waiter, heartbeat_ms)
local head = line_head(line_key, heartbeats_key)
local first = not head or waiter ~= '' and head == waiter
local more = queue_tidy(queue, 1000)
local id = first and not more and redis.call('ZRANGE', queue.order, 0, 0)[1]
if not id then
  if queue.returned + queue.expired > 0 then queue_keep(queue) end
  if waiter ~= '' and not more then
    if heartbeat_ms > 0 then
      line_enter(line_key, heartbeats_key, waiter, heartbeat_ms)
    else
      redis.call('ZREM', line_key, waiter)
    end
  end
  local ends = redis.call('ZRANGE', queue.leased, 0, 0, 'WITHSCORES')[2]
  local depth = redis.call('ZCARD', queue.order)
  if queue.returned > 0 and not first then line_wake(line_key, heartbeats_key, inboxes) end
  return {
    depth = depth, lease_ends_ms = ends and math.max(math.ceil((tonumber(ends) - now) / 1000), 1), first = first, more = more,
    returned = queue.returned, expired = queue.expired,
  }
end
local e, text = entry_read(queue, id), redis.call('HGET', queue.bodies, id) or ''
if lease_ms > 0 then
  local ends = now + lease_ms * 1000
  queue.longest = math.max(queue.longest, ends + e.ends - now)
  e.since, e.tries, e.lease, e.session = now, e.tries + 1, lease, session
  redis.call('ZREM', queue.order, id)
  redis.call('ZREM', queue.expiry, id)
  redis.call('ZADD', queue.leased, ends, lease)
  redis.call('HSET', queue.holders, lease, id)
  redis.call('HSET', queue.entries, id, entry_text(e))
else
  redis.call('HSET', taken_key, 'id', id, 'entry', entry_text(e), 'body', text, 'session', session)
  redis.call('PEXPIRE', taken_key, keep_ms)
  entries_drop(queue, {id})
  e.tries = e.tries + 1
end
queue_keep(queue)
local depth = redis.call('ZCARD', queue.order)
if waiter ~= '' then redis.call('ZREM', line_key, waiter) end
if depth > 0 then line_wake(line_key, heartbeats_key, inboxes) end
return {
  found = true, id = id, attempt = e.tries, came_ms = math.floor(e.came / 1000), depth = depth, first = true,
  returned = queue.returned, expired = queue.expired, text = text,
}, true
-- AFTER
-- The stored reply has no body, to save memory: for a repeated call, queue_replay returns the body.
if r then r.body = r.text end
