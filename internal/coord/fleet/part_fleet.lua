-- The registry of the fleet. ends is a sorted set of the ids of sidecars, scored by the time (us) at which an entry ends unless the
-- sidecar sends another heartbeat. texts is a hash of the text that describes each sidecar, by id. Both are written together and
-- share one TTL.

-- fleet_tidy removes at most 1,000 entries that have ended. It reads both keys first, so that a key of another type fails before
-- anything is written.
local function fleet_tidy(ends, texts)
  local gone = redis.call('ZRANGEBYSCORE', ends, '-inf', now, 'LIMIT', 0, 1000)
  redis.call('HLEN', texts)
  if #gone == 0 then return end
  redis.call('ZREM', ends, unpack(gone))
  redis.call('HDEL', texts, unpack(gone))
end
