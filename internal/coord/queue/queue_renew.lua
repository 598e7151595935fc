-- Renews the lease of an entry; never revives one that has ended.
-- USES clock queue queue_lease
-- KEYS order; entries; bodies; expiry; leased; holders
-- ARGV lease; session; lease_ms
-- RETURNS state
-- TTL as queue_enqueue
-- COST O(log leases), 46 us: ZSCORE, HGET, and when it is held ZADD and PEXPIRE
queue_read(queue)
local e, ends = queue_lease_find(queue, lease)
if not e then return 0 end
if session ~= '' and e.session ~= session then return 2 end
-- A session never shortens a lease; the holder's own call may.
ends = math.max(session == '' and 0 or ends, now + lease_ms * 1000)
redis.call('ZADD', queue.leased, ends, lease)
queue.longest = math.max(queue.longest, ends + e.ends - e.since)
queue_keep(queue)
return 1
