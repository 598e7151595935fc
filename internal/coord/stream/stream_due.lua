-- Adds at most 100 messages to a stream whose delay is over.
-- USES clock
-- KEYS log; dead; groups; due; delayed
-- ARGV
-- RETURNS added; next_ms
-- TTL none
-- COST O(log delayed) for each: ZRANGEBYSCORE, HGET, XADD, ZREM, HDEL
local serials = redis.call('ZRANGEBYSCORE', due_key, '-inf', now, 'LIMIT', 0, 100)
for _, serial in ipairs(serials) do
  local message = redis.call('HGET', delayed_key, serial)
  if message then redis.call('XADD', log_key, '*', 'm', message) end
  redis.call('ZREM', due_key, serial)
  redis.call('HDEL', delayed_key, serial)
end
local next = redis.call('ZRANGE', due_key, 0, 0, 'WITHSCORES')[2]
return {added = #serials, next_ms = next and math.max(math.ceil((tonumber(next) - now) / 1000), 0) or -1}
