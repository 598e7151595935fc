-- Adds a message to the end of a stream, or has it wait until it is due. A message whose dedupe id is known is not added.
-- USES clock
-- KEYS log; dead; groups; due; delayed; dedupe (optional)
-- ARGV message; dedupe_ms; max_len; delay_ms; serial; broadcast
-- RETURNS published; id; due_ms
-- TTL dedupe: dedupe_ms; log, due, delayed: none
-- COST O(log delayed), 12 us: GET, XADD or ZADD and HSET, SET
local first = dedupe_key and redis.call('GET', dedupe_key)
if first then return {id = first} end
local id, due_ms = '', 0
if delay_ms > 0 then
  due_ms = math.ceil(now / 1000) + delay_ms
  redis.call('ZADD', due_key, due_ms * 1000, serial)
  redis.call('HSET', delayed_key, serial, message)
  redis.call('PUBLISH', broadcast, 'stream ' .. log_key)
elseif max_len > 0 then
  id = redis.call('XADD', log_key, 'MAXLEN', '~', max_len, '*', 'm', message)
else
  id = redis.call('XADD', log_key, '*', 'm', message)
end
if dedupe_key then redis.call('SET', dedupe_key, id, 'PX', dedupe_ms) end
return {published = true, id = id, due_ms = due_ms}
