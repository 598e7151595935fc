-- Counts what a queue has, and says where an entry of it stands.
-- USES clock queue queue_tidy
-- KEYS order (sorted set, see prelude_queue.lua); entries (hash); bodies (hash); expiry (sorted set); leased (sorted set);
--      holders (hash); line (sorted set, see prelude_line.lua)
-- ARGV id (any bytes, empty = none)
-- RETURNS state (QueueEntryState in queue.go); position (0 unless it waits); depth; leased; waiting (places in the line, of dead
--      sidecars too); oldest_ms (since the first one came, down); returned (how many came back); expired (how many had)
-- TTL as queue_enqueue
-- COST O(log entries + ended leases and expired entries, 1,000 at most): ZCARD, ZRANK, HGET, and PEXPIRE when one was removed
local q = queue_read()
local waiting = redis.call('ZCARD', KEYS[7])
queue_tidy(1000)
local state, position = 0, 0
local e, leased
if ARGV[1] ~= '' then e, leased = entry_find(ARGV[1]) end
if e then
  state, position = leased and 2 or 1, leased and 0 or redis.call('ZRANK', ORDER, e.id) + 1
end
if returned + expired > 0 then queue_keep(q) end
local first = entry_read(redis.call('ZRANGE', ORDER, 0, 0)[1] or '')
local oldest = first and math.max(math.floor((now - first.came) / 1000), 0) or 0
return {state, position, redis.call('ZCARD', ORDER), redis.call('ZCARD', LEASED), waiting, oldest, returned, expired}
