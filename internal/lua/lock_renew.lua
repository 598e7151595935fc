-- Renews a lock that the token holds; never revives one that expired or was released.
-- USES clock lock
-- KEYS lock (hash, see prelude_lock.lua)
-- ARGV token (the owner's secret); ttl_ms (from now); session (id, and never shortened; empty = any, and the
--      owner's own word, shorter or longer)
-- RETURNS state (LockState in lock.go); fence (the token's, 0 when it holds nothing); ttl_ms (left, down);
--      final (1 = no renewal extends it any more)
-- TTL lock: what the owner has left, and 150 s
-- COST O(1): HMGET, and when owned HSET and PEXPIRE
local lock = read()
local found = state(lock, ARGV[1], ARGV[3])
if found == 1 then
  redis.call('HSET', KEYS[1], 'until', hold_until(lock, tonumber(ARGV[2]), ARGV[3] == ''))
  remember(lock)
end
if found ~= 1 and found ~= 4 then return {found, 0, 0, 0} end
return {found, lock.fence, left_ms(lock), final(lock)}
