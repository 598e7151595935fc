-- Gives the permits of a token back and nobody else's, gives up a place in the line, and tells whose turn it is.
-- USES clock line leases permits
-- KEYS leases (sorted set, see prelude_leases.lua); holders (hash); weights (sorted set, see prelude_permits.lua);
--      line (sorted set, see prelude_line.lua); beats (sorted set); gone (string: the fence of what the token gave back)
-- ARGV token (the owner's secret, empty = none); session (id, empty = any); waiter (that leaves the line, empty = none);
--      inboxes (what the names of the sidecars' channels begin with)
-- RETURNS state (SemaphoreState in semaphore.go)
-- TTL leases, holders, weights: of those that are left, as long as the last, and 150 s; gone: 150 s; line, beats: unchanged
-- COST O(log leases + dead waiters): ZSCORE, HGET, and when it is held ZREM, HDEL, SET, PEXPIRE, ZRANGE and PUBLISH
local token, session, waiter = ARGV[1], ARGV[2], ARGV[3]
local mine = token ~= '' and permits_of(token)
local state = 0
if mine then
  state = (session == '' or mine.session == session) and 1 or 2
elseif token ~= '' and redis.call('GET', KEYS[6]) then
  state = 3
end
-- A key of another type fails before anything is written.
redis.call('ZCARD', weights)
redis.call('ZCARD', KEYS[5])
-- It may have been the first in the line, with something free for the next.
local left = waiter ~= '' and redis.call('ZREM', KEYS[4], waiter) == 1
if state == 1 then
  redis.call('ZREM', leases, token)
  redis.call('HDEL', holders, token)
  redis.call('ZREM', weights, token)
  permits_remember()
  -- A late repetition of the acquisition, or of this, learns what became of it.
  redis.call('SET', KEYS[6], string.format('%.0f', mine.fence), 'PX', MEMORY_MS)
end
if state == 1 or left then line_wake(KEYS[4], KEYS[5], ARGV[4]) end
return {state}
