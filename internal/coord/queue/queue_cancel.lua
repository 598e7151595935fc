-- Removes an entry from a queue, unless it is leased.
-- USES clock queue queue_tidy
-- KEYS order; entries; bodies; expiry; leased; holders
-- ARGV id
-- RETURNS state; returned; expired
-- TTL as queue_enqueue
-- COST O(log entries): HGET, ZSCORE, ZREM, HDEL and PEXPIRE
queue_read(queue)
local e, leased = entry_find(queue, id)
if e and not leased then entries_drop(queue, {e.id}) end
if e and not leased or queue.returned + queue.expired > 0 then queue_keep(queue) end
return {state = leased and 2 or e and 1 or 0, returned = queue.returned, expired = queue.expired}
