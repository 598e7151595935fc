-- The registry of the fleet: ends is a sorted set of the ids of sidecars, by when (us) each counts as gone unless it beats, and
-- texts a hash of what each says of itself. Both are written together and share one TTL.

-- fleet_tidy takes out at most 1,000 of those that are gone.
local function fleet_tidy(ends, texts)
  local gone = redis.call('ZRANGEBYSCORE', ends, '-inf', now, 'LIMIT', 0, 1000)
  redis.call('HLEN', texts)
  if #gone == 0 then return end
  redis.call('ZREM', ends, unpack(gone))
  redis.call('HDEL', texts, unpack(gone))
end
