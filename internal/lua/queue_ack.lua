-- Ends the lease of an entry that was dealt with.
-- USES clock queue queue_ended
-- KEYS order (sorted set, see prelude_queue.lua); entries (hash); bodies (hash); expiry (sorted set); leased (sorted set);
--      holders (hash); ended (sorted set, see prelude_queue_ended.lua)
-- ARGV lease
-- RETURNS state (QueueLeaseState in queue.go)
-- TTL as queue_enqueue; ended: 150 s
-- COST O(log leases): ZSCORE, HGET, and when it is held ZREM, HDEL, ZADD and PEXPIRE
local q = queue_read()
local noted = ended_by('a', ARGV[1])
local e = lease_find(ARGV[1])
if not e then return {noted and 3 or 0} end
entry_unlease(e)
entries_drop({e.id})
ended_note('a', e.lease)
queue_keep(q)
return {1}
