-- Reads a lock.
-- USES clock lock
-- KEYS lock (hash, see prelude_lock.lua)
-- ARGV
-- RETURNS held (1 or 0); fence (the last, 0 = none is remembered); ttl_ms (left, down); client (the owner's, empty when free);
--      instance; since_ms; token; last_token (the last that was released)
-- TTL none is written
-- COST O(1): HMGET
local lock = read()
if lock.held then
  return {1, lock.fence, left_ms(lock), lock.client, lock.instance, math.floor(lock.since / 1000), lock.token, lock.last}
end
return {0, lock.fence, 0, '', '', 0, '', lock.last}
