-- Adds messages whose delay is over to their stream, in the order in which they are due: at most 100, and no more once it has
-- added 1 MiB.
-- USES clock stream_add
-- KEYS log; dead; groups; due; delayed
-- ARGV
-- RETURNS added; next_ms
-- TTL none
-- COST O(100 log delayed + messages trimmed, 10,000 at most for each): ZRANGEBYSCORE, and for each HGET, XADD, ZREM, HDEL
-- Keys of another type make the script fail before anything is written.
redis.call('XLEN', log_key)
redis.call('HLEN', delayed_key)
local added, bytes = 0, 0
for _, serial in ipairs(redis.call('ZRANGEBYSCORE', due_key, '-inf', now, 'LIMIT', 0, 100)) do
  local kept = redis.call('HGET', delayed_key, serial)
  if kept then
    local colon = string.find(kept, ':', 1, true)
    stream_add(log_key, tonumber(string.sub(kept, 1, colon - 1)), string.sub(kept, colon + 1))
    added, bytes = added + 1, bytes + #kept
  end
  redis.call('ZREM', due_key, serial)
  redis.call('HDEL', delayed_key, serial)
  if bytes > 1048576 then break end
end
local next = redis.call('ZRANGE', due_key, 0, 0, 'WITHSCORES')[2]
if next then return {added = added, next_ms = math.max(math.ceil((tonumber(next) - now) / 1000), 0)} end
redis.call('DEL', delayed_key)
return {added = added, next_ms = -1}
