-- Gives a lock back if the token holds it, gives up a place in the line, and tells whose turn it is.
-- USES clock lock line
-- KEYS lock (hash, see prelude_lock.lua); line (sorted set, see prelude_line.lua); beats (sorted set)
-- ARGV token (the owner's secret, empty = none); session (id, empty = any); waiter (that leaves the line, empty = none);
--      inboxes (what the names of the sidecars' channels begin with)
-- RETURNS state (LockState in lock.go)
-- TTL lock: 150 s; line, beats: unchanged
-- COST O(1 + dead waiters): HMGET, and when owned HDEL, HSET, PEXPIRE, ZRANGE and PUBLISH
local lock = read()
local found = ARGV[1] == '' and 0 or state(lock, ARGV[1], ARGV[2])
local left = ARGV[3] ~= '' and redis.call('ZREM', KEYS[2], ARGV[3]) == 1
if found == 1 then
  free(lock)
  redis.call('HSET', KEYS[1], 'last', lock.token)
  remember(lock)
end
if found == 1 or left and not lock.held then line_wake(KEYS[2], KEYS[3], ARGV[4]) end
return {found}
