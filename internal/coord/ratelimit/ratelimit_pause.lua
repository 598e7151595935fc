-- Pauses a key until an instant, and notifies every sidecar. Of several pauses the longest counts.
-- USES clock pace
-- KEYS pace
-- ARGV for_us; until_us; longest_us; why; channel
-- RETURNS until_us; changed; now_us
-- TTL pace: until nothing in it has an effect, and 1 s
-- COST O(sources of delays): HMGET, and when it is the longest HSET, PEXPIRE and PUBLISH
local till = for_us > 0 and now + for_us or until_us
if till > now + longest_us then return {until_us = -1, now_us = now} end
local pace = pace_read(pace_key)
if till <= now or till <= pace.pause then return {until_us = pace.pause > now and pace.pause or 0, now_us = now} end
pace.pause, pace.over, pace.ends = till, false, math.max(pace.ends, till)
redis.call('HSET', pace_key, 'pause', till, 'why', why)
pace_write(pace_key, pace)
redis.pcall('PUBLISH', channel, table.concat({'pause ', pace_key}))
return {until_us = till, changed = true, now_us = now}
