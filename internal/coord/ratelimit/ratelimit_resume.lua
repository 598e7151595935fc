-- Ends the pause of a key, forgets its penalty, and notifies every sidecar. Its delays stay.
-- USES clock pace
-- KEYS pace
-- ARGV channel
-- RETURNS resumed
-- TTL pace: until nothing in it has an effect, and 1 s
-- COST O(sources of delays): HMGET, HDEL, and with delays HSET and PEXPIRE; PUBLISH
local pace = pace_read(pace_key)
local resumed = pace.pause > now
if pace.ends > 0 then
  redis.call('HDEL', pace_key, 'penalty', 'level')
  if pace.delay > 0 then
    pace.over = true
    pace_write(pace_key, pace)
  else
    redis.call('DEL', pace_key)
  end
end
-- It publishes even if there was no pause, since the reply of an earlier run may have been lost. An ACL that forbids
-- PUBLISH does not fail the resume: what sidecars remember expires by itself.
redis.pcall('PUBLISH', channel, table.concat({'resume ', pace_key}))
return resumed
