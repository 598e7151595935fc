-- Puts an entry at the end of a queue, unless the queue has its id, and wakes the first waiter. A repeated call gets the stored reply
-- and puts nothing, even if the entry has been taken and acknowledged meanwhile.
-- USES clock queue queue_tidy line
-- KEYS order; entries; bodies; expiry; leased; holders; line; heartbeats
-- ARGV id; ttl_ms; body; inboxes
-- RETURNS enqueued; position; depth; returned; expired
-- TTL all but line and heartbeats: until nothing of the queue can be wanted, and 1 s; line, heartbeats: unchanged
-- COST O(log entries + ended leases and expired entries, 10 at most), 47 us: HGET, ZADD, HSET, PEXPIRE, ZRANGE and PUBLISH
queue_read(queue)
redis.call('ZCARD', line_key)
redis.call('ZCARD', heartbeats_key)
-- Removes more entries than it adds, so that entries that nobody takes do not pile up.
queue_tidy(queue, 10)
local e, leased = entry_find(queue, id)
local new = not e
if new then
  -- The clock makes numbers rise even after the last number was deleted with the last entry.
  queue.last = math.max(queue.last + 1, now)
  e = {id = id, n = queue.last, came = now, ends = now + ttl_ms * 1000, tries = 0}
  entry_wait(queue, e)
  if body ~= '' then redis.call('HSET', queue.bodies, id, body) end
  queue.longest = math.max(queue.longest, e.ends)
end
if new or queue.returned + queue.expired > 0 then queue_keep(queue) end
return {
  enqueued = new, position = leased and 0 or redis.call('ZRANK', queue.order, id) + 1,
  depth = redis.call('ZCARD', queue.order), returned = queue.returned, expired = queue.expired,
}, new
-- AFTER
if r and (r.enqueued or r.returned > 0) then line_wake(line_key, heartbeats_key, inboxes) end
