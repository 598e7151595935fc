-- Frees a lock whoever holds it, tells every sidecar, and whose turn it is. Repeated by its latch it frees nobody else's.
-- USES clock once lock line
-- KEYS lock (hash, see prelude_lock.lua); line (sorted set, see prelude_line.lua); beats (sorted set)
-- ARGV inboxes (what the names of the sidecars' channels begin with); channel (of the broadcast)
-- RETURNS released (1 = it was held); fence (0 when it was not); client (the owner's); instance; since_ms; meta
-- TTL lock: 150 s; line, beats: unchanged
-- COST O(1 + dead waiters): HMGET, and when it was held HDEL, PEXPIRE, ZRANGE and PUBLISH
local reply = once(KEYS[4], ARGV[3], function()
  local lock = read()
  -- A key of another type fails before anything is written.
  redis.call('ZCARD', KEYS[2])
  redis.call('ZCARD', KEYS[3])
  if not lock.held then return {0, 0, '', '', 0, ''}, false end
  local found = {1, lock.fence, lock.client, lock.instance, math.floor(lock.since / 1000), lock.meta}
  -- Its token did not give it back: last stays.
  free(lock)
  remember(lock)
  return found, true
end)
-- Whatever was found: the messages of an earlier run may have been lost.
redis.pcall('PUBLISH', ARGV[2], table.concat({'forced ', KEYS[1]}))
line_wake(KEYS[2], KEYS[3], ARGV[1])
return reply
