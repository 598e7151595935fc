-- Frees the lease of a grant, gives up a place in the line, and tells whose turn it is.
-- USES clock line leases
-- KEYS leases (sorted set, see prelude_leases.lua); holders (hash); line (sorted set, see prelude_line.lua); beats (sorted set)
-- ARGV id (the grant's, empty = none); session (id, empty = any); waiter (that leaves the line, empty = none);
--      inboxes (what the names of the sidecars' channels begin with)
-- RETURNS state (SeatState in ratelimit_seat.go)
-- TTL leases, holders: of those that are left, as long as the last; line, beats: unchanged
-- COST O(log leases + ended leases + dead waiters): ZSCORE, HGET, and when it is held ZREM, HDEL, PEXPIRE, ZRANGE and PUBLISH
local id, session, waiter = ARGV[1], ARGV[2], ARGV[3]
-- A key of another type fails before anything is written.
redis.call('ZCARD', KEYS[3])
redis.call('ZCARD', KEYS[4])
local found = id == '' and 0 or leases_state(KEYS[1], KEYS[2], id, session)
-- It may have been the first in the line, with something free for the next.
local left = waiter ~= '' and redis.call('ZREM', KEYS[3], waiter) == 1
if found == 1 then leases_free(KEYS[1], KEYS[2], id) end
if found == 1 or left then line_wake(KEYS[3], KEYS[4], ARGV[4]) end
return {found}
