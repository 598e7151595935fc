-- Adds a message to the end of a stream, or keeps it until it is due. A message whose dedupe id is known is not added.
-- USES clock stream_add
-- KEYS log; dead; groups; due; delayed; dedupe
-- ARGV message; dedupe_ms; max_len; delay_ms; broadcast
-- RETURNS published; id; due_ms
-- TTL dedupe: dedupe_ms; log, due, delayed: none
-- COST O(log delayed + messages trimmed, 10,000 at most), 18 us: GET, XADD, SET; 24 us with a delay: HINCRBY, ZADD, HSET, ZRANGE
local first = dedupe_key and redis.call('GET', dedupe_key)
-- This reply is stored too, so that a repeated call adds nothing even after the dedupe id has expired.
if first then return {id = first}, true end
local id, due_ms, soonest = '', 0, false
if delay_ms > 0 then
  -- Keys of another type make the script fail before anything is written.
  redis.call('XLEN', log_key)
  redis.call('ZCARD', due_key)
  due_ms = math.ceil(now / 1000) + delay_ms
  local serial = string.format('%d', 1000000000000000 + redis.call('HINCRBY', delayed_key, '', 1))
  redis.call('ZADD', due_key, due_ms * 1000, serial)
  redis.call('HSET', delayed_key, serial, table.concat({string.format('%d:', max_len), message}))
  soonest = redis.call('ZRANGE', due_key, 0, 0)[1] == serial
else
  id = stream_add(log_key, max_len, message)
end
if dedupe_key then redis.call('SET', dedupe_key, id, 'PX', dedupe_ms) end
return {published = true, id = id, due_ms = due_ms, soonest = soonest}, true
-- AFTER
-- Sidecars that look after the stream have scheduled their next run for a later time.
if r and r.soonest then redis.pcall('PUBLISH', broadcast, table.concat({'stream ', log_key})) end
