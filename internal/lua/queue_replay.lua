-- Tells what became of an entry that an earlier call took, and has another session be the one that was told.
-- USES clock queue queue_ended
-- KEYS order (sorted set, see prelude_queue.lua); entries (hash); bodies (hash); expiry (sorted set); leased (sorted set);
--      holders (hash); ended (sorted set, see prelude_queue_ended.lua); taken (hash, see queue_release.lua)
-- ARGV lease; session (id, empty = none); lease_ms (from now; never shortens)
-- RETURNS state (QueueLeaseState in queue.go); body
-- TTL as queue_enqueue; taken: 150 s
-- COST O(log leases): ZSCORE, HGET, HMGET, and when it is held HSET, ZADD and PEXPIRE
local lease, session = ARGV[1], ARGV[2]
local q = queue_read()
local noted = ended_by('a', lease) or ended_by('r', lease)
local taken = redis.call('HGET', KEYS[8], 'body')
local e, ends = lease_find(lease)
if e then
  ends = math.max(ends, now + tonumber(ARGV[3]) * 1000)
  e.session = session
  redis.call('HSET', ENTRIES, e.id, entry_text(e))
  redis.call('ZADD', LEASED, ends, lease)
  q.longest = math.max(q.longest, ends + e.ends - e.since)
  queue_keep(q)
  return {1, redis.call('HGET', BODIES, e.id) or ''}
end
if taken then
  redis.call('HSET', KEYS[8], 'session', session)
  redis.call('PEXPIRE', KEYS[8], 150000)
  return {1, taken}
end
return {noted and 3 or 0, ''}
