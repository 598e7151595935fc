-- Puts back an entry whose lease is given up, or that left the queue for a caller that did not get the reply; removes a waiter from the
-- waiting line; and wakes the next waiter.
-- USES clock queue queue_tidy queue_lease queue_ended line
-- KEYS order; entries; bodies; expiry; leased; holders; ended; line; heartbeats; taken
-- ARGV lease; session; waiter; inboxes
-- RETURNS state
-- TTL as queue_enqueue; ended: 150 s; line, heartbeats: unchanged
-- COST O(log entries + dead waiters): ZSCORE, HGET, and when it is held ZADD, ZREM, HSET, HDEL, PEXPIRE, ZRANGE and PUBLISH
queue_read(queue)
local state = 0
local noted = queue_ended_by(ended_key, 'r', lease)
local taken = redis.call('HMGET', taken_key, 'id', 'entry', 'body', 'session')
redis.call('ZCARD', heartbeats_key)
local left = waiter ~= '' and redis.call('ZREM', line_key, waiter) == 1
local e = queue_lease_find(queue, lease)
if e then
  state = (session == '' or e.session == session) and 1 or 2
  if state == 1 then entry_return(queue, e, now) end
elseif lease ~= '' and taken[1] then
  state = (session == '' or taken[4] == session) and 1 or 2
  -- An entry of the same id that was put in meanwhile stays as it is.
  if state == 1 and not entry_find(queue, taken[1]) then
    redis.call('HSET', queue.entries, taken[1], taken[2])
    e = entry_read(queue, taken[1])
    entry_wait(queue, e)
    if taken[3] ~= '' then redis.call('HSET', queue.bodies, e.id, taken[3]) end
    queue.last, queue.longest = math.max(queue.last, e.n), math.max(queue.longest, e.ends)
  end
  if state == 1 then redis.call('DEL', taken_key) end
elseif noted then
  state = 3
end
if state == 1 then
  queue_ended_note(ended_key, 'r', lease)
  queue_keep(queue)
end
if (state == 1 or left) and redis.call('ZCARD', queue.order) > 0 then line_wake(line_key, heartbeats_key, inboxes) end
return state
