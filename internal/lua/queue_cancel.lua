-- Takes an entry out of a queue, unless someone has it.
-- USES clock queue queue_tidy
-- KEYS order (sorted set, see prelude_queue.lua); entries (hash); bodies (hash); expiry (sorted set); leased (sorted set);
--      holders (hash)
-- ARGV id (any bytes)
-- RETURNS state (QueueEntryState in queue.go, what it was); returned (1 = its lease had ended); expired (1 = it had)
-- TTL as queue_enqueue
-- COST O(log entries): HGET, ZSCORE, ZREM, HDEL and PEXPIRE
local q = queue_read()
local e, leased = entry_find(ARGV[1])
if e and not leased then entries_drop({e.id}) end
if e and not leased or returned + expired > 0 then queue_keep(q) end
return {leased and 2 or e and 1 or 0, returned, expired}
