-- Returns what became of an entry that an earlier call took, and binds it to the session of the repeated call.
-- USES clock queue queue_lease queue_ended
-- KEYS order; entries; bodies; expiry; leased; holders; ended; taken
-- ARGV lease; session; lease_ms
-- RETURNS state; body
-- TTL as queue_enqueue; taken: 150 s
-- COST O(log leases): ZSCORE, HGET, HMGET, and when it is held HSET, ZADD and PEXPIRE
queue_read(queue)
local noted = queue_ended_by(ended_key, 'a', lease) or queue_ended_by(ended_key, 'r', lease)
local taken = redis.call('HGET', taken_key, 'body')
local e, ends = queue_lease_find(queue, lease)
if e then
  ends = math.max(ends, now + lease_ms * 1000)
  e.session = session
  redis.call('HSET', queue.entries, e.id, entry_text(e))
  redis.call('ZADD', queue.leased, ends, lease)
  queue.longest = math.max(queue.longest, ends + e.ends - e.since)
  queue_keep(queue)
  return {state = 1, body = redis.call('HGET', queue.bodies, e.id)}
end
if taken then
  redis.call('HSET', taken_key, 'session', session)
  redis.call('PEXPIRE', taken_key, 150000)
  return {state = 1, body = taken}
end
return {state = noted and 3 or 0}
