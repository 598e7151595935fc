-- Acknowledges an entry: ends its lease and removes it.
-- USES clock queue queue_lease queue_ended
-- KEYS order; entries; bodies; expiry; leased; holders; ended
-- ARGV lease
-- RETURNS state
-- TTL as queue_enqueue; ended: 150 s
-- COST O(log leases), 37 us: ZSCORE, HGET, and when it is held ZREM, HDEL, ZADD and PEXPIRE
queue_read(queue)
local noted = queue_ended_by(ended_key, 'a', lease)
local e = queue_lease_find(queue, lease)
if not e then return noted and 3 or 0 end
entry_unlease(queue, e)
entries_drop(queue, {e.id})
queue_ended_note(ended_key, 'a', lease)
queue_keep(queue)
return 1
