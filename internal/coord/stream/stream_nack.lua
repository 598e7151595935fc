-- Makes a message wait for a delay before it is delivered to its group again, or moves it to the dead letters after its last
-- attempt.
-- USES clock stream lane lane_leave lane_back
-- KEYS log; dead; groups; retry; lanes; parked; laned
-- ARGV group; id; delay_ms; max_deliveries; dead; reason
-- RETURNS nacked; dead; delay_ms; attempt
-- TTL none
-- COST O(groups + log pending): XINFO, XPENDING, XRANGE, and ZADD, or XADD, XACK and ZREM
if not group_find(log_key, group) then return {} end
-- A key of another type makes the script fail before anything is written.
redis.call('ZCARD', retry_key)
redis.call('HLEN', laned_key)
local _, attempts = pending_find(log_key, group, id)
if not attempts then return {} end
local m = message_find(log_key, id)
if not m then
  message_trimmed(log_key, groups_key, group, id)
  lane_end(lanes_key, parked_key, laned_key, id)
  redis.call('ZREM', retry_key, id)
  return {}
end
if dead or max_deliveries > 0 and attempts >= max_deliveries then
  message_bury(log_key, dead_key, group, id, m, attempts, reason ~= '' and reason or dead and 'nack' or 'max_deliveries')
  redis.call('ZREM', retry_key, id)
  lane_end(lanes_key, parked_key, laned_key, id)
  return {nacked = true, dead = true, attempt = attempts}
end
if delay_ms < 0 then delay_ms = math.min(1000 * 2 ^ (math.max(math.min(attempts, 20), 1) - 1), 300000) end
local at = now + delay_ms * 1000
if not lane_back(lanes_key, parked_key, laned_key, log_key, group, id, attempts, at) then redis.call('ZADD', retry_key, at, id) end
return {nacked = true, delay_ms = delay_ms, attempt = attempts}
