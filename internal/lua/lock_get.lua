-- Reads a lock.
-- USES clock lock
-- KEYS lock (hash, see prelude_lock.lua); line (sorted set, see prelude_line.lua)
-- ARGV
-- RETURNS held (1 or 0); fence (the last, 0 = none is remembered); ttl_ms (left, down); client (the owner's, empty when free);
--      instance; since_ms; token; last_token (the last that was released); waiting (places in the line, of dead sidecars too);
--      meta; final (1 = no renewal extends it)
-- TTL none is written
-- COST O(1): HMGET, ZCARD
local lock = read()
local waiting = redis.call('ZCARD', KEYS[2])
if lock.held then
  return {1, lock.fence, left_ms(lock), lock.client, lock.instance, math.floor(lock.since / 1000), lock.token, lock.last, waiting,
    lock.meta, final(lock)}
end
return {0, lock.fence, 0, '', '', 0, '', lock.last, waiting, '', 0}
