-- Where a breaker's record is kept: a field of a hash.

-- breaker_load returns the record and its text.
local function breaker_load(key, field)
  local text = redis.call('HGET', key, field)
  local b = breaker_read(text)
  return b, text or BREAKER_NEW
end

-- breaker_save keeps what differs from its text before. A hash with several records lives as long as the longest of them.
-- Once one of them was forced it lives until it is empty: whether others still are would take looking at all.
local function breaker_save(key, field, b, p, before)
  local text = breaker_text(b)
  if text == before then return end
  if text == BREAKER_NEW then
    redis.call('HDEL', key, field)
    return
  end
  local ms, alone = breaker_live_ms(b, p), redis.call('HLEN', key) - redis.call('HEXISTS', key, field) == 0
  local left = alone and 0 or redis.call('PTTL', key)
  redis.call('HSET', key, field, text)
  if ms < 0 then
    redis.call('PERSIST', key)
  elseif left >= 0 then
    redis.call('PEXPIRE', key, math.max(ms, left, 1))
  end
end

-- breaker_tell tells every sidecar to forget what it remembers of the breakers of a key. It has to be the last thing that a
-- script does.
local function breaker_tell(channel, key)
  redis.pcall('PUBLISH', channel, table.concat({'breaker ', key}))
end
