-- Gives a lock back if the token holds it; its fence and last token are remembered.
-- USES clock lock
-- KEYS lock (hash, see prelude_lock.lua)
-- ARGV token (the owner's secret); session (id, empty = any)
-- RETURNS state (LockState in lock.go)
-- TTL lock: 60 s
-- COST O(1): HMGET, and when owned HDEL, HSET and PEXPIRE
local lock = read()
local found = state(lock, ARGV[1], ARGV[2])
if found == 1 then
  redis.call('HDEL', KEYS[1], 'token', 'until', 'session', 'client', 'instance', 'since')
  redis.call('HSET', KEYS[1], 'last', lock.token)
  lock.ends = now
  remember(lock)
end
return {found}
