-- Pauses a key because of an answer of its remote server, and notifies every sidecar. If the server does not ask for a time,
-- each pause is twice as long as the last one, and a report during such a pause changes nothing. If it asks for a time,
-- exactly that time is used; it may prolong a pause, and does not count for the doubling.
-- USES clock pace
-- KEYS pace
-- ARGV hit; retry_us; base_ms; max_ms; factor; forgive_us; why; channel
-- RETURNS until_us; did; level; now_us
-- TTL pace: until nothing in it has an effect, and 1 s
-- COST O(sources of delays), 24 us: HMGET twice, and when it pauses HSET, PEXPIRE and PUBLISH
local f = redis.call('HMGET', pace_key, 'penalty', 'level')
local ends, level = tonumber(f[1] or 0), tonumber(f[2] or 0)
local pace, till, did = pace_read(pace_key), 0, 0
if hit then
  if now >= ends + forgive_us then level = 0 end
  if retry_us > 0 then
    till = now + retry_us
  elseif ends <= now then
    level = level + 1
    till = now + math.min(math.floor(math.min(base_ms * 2 ^ (level - 1), max_ms)) * factor, max_ms * 1000)
  end
end
if till > ends then
  did = ends > now and 2 or 1
  redis.call('HSET', pace_key, 'penalty', till, 'level', level)
  pace.ends = math.max(pace.ends, till + forgive_us)
  if till > pace.pause then
    pace.pause, pace.over = till, false
    redis.call('HSET', pace_key, 'pause', till, 'why', why)
  end
  pace_write(pace_key, pace)
  redis.pcall('PUBLISH', channel, table.concat({'pause ', pace_key}))
end
return {until_us = pace.pause > now and pace.pause or 0, did = did, level = level, now_us = now}, did > 0
