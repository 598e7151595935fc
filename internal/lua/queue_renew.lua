-- Renews the lease of an entry; never revives one that has ended.
-- USES clock queue queue_lease
-- KEYS order (sorted set, see prelude_queue.lua); entries (hash); bodies (hash); expiry (sorted set); leased (sorted set);
--      holders (hash)
-- ARGV lease; session (id, and never shortened; empty = any, and the owner's own word, shorter or longer);
--      lease_ms (from now)
-- RETURNS state (QueueLeaseState in queue.go)
-- TTL as queue_enqueue
-- COST O(log leases): ZSCORE, HGET, and when it is held ZADD and PEXPIRE
local q = queue_read()
local e, ends = lease_find(ARGV[1])
if not e then return {0} end
if ARGV[2] ~= '' and e.session ~= ARGV[2] then return {2} end
ends = math.max(ARGV[2] == '' and 0 or ends, now + tonumber(ARGV[3]) * 1000)
redis.call('ZADD', LEASED, ends, e.lease)
q.longest = math.max(q.longest, ends + e.ends - e.since)
queue_keep(q)
return {1}
