-- The registry of the fleet: ends is a sorted set of the ids of sidecars, by when (us) each is gone unless it sends another heartbeat, and texts
-- a hash, by id, of the text that describes each. Both are written together and share one TTL.

-- fleet_tidy takes out at most 1,000 of those that are gone. It touches both keys, so that one of another type fails before
-- anything is written.
local function fleet_tidy(ends, texts)
  local gone = redis.call('ZRANGEBYSCORE', ends, '-inf', now, 'LIMIT', 0, 1000)
  redis.call('HLEN', texts)
  if #gone == 0 then return end
  redis.call('ZREM', ends, unpack(gone))
  redis.call('HDEL', texts, unpack(gone))
end
