-- Loads and saves a breaker's record, which is a field of a hash.

-- breaker_load returns the record and its text.
local function breaker_load(key, field)
  local text = redis.call('HGET', key, field)
  local b = breaker_read(text)
  return b, text or BREAKER_NEW
end

-- breaker_save writes a record unless its text is still the one before. A hash with several records lives as long as the one
-- that has to be kept longest. Once one of them was forced, the hash lives until it is empty: to find out whether others are
-- still forced, all of them would have to be read.
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

-- breaker_tell publishes to every sidecar that its cached answers for the breakers of a key are out of date. It must be the last
-- step of a script.
local function breaker_tell(channel, key)
  redis.pcall('PUBLISH', channel, table.concat({'breaker ', key}))
end
