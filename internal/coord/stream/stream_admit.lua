-- Delivers the first message of a lane; or makes the lane wait for wait_ms; or moves the message to the dead letters, for a
-- reason or after its last attempt.
-- USES clock stream lane lane_leave
-- KEYS log; dead; groups; retry; lanes; parked; laned
-- ARGV group; consumer; lane; id; wait_ms; max_deliveries; reason
-- RETURNS admitted; dead; attempt; message
-- TTL none
-- COST O(log parked + log pending): ZRANGEBYLEX, XRANGE, and ZADD, or XCLAIM, HSET and ZADD, or XADD, ZREM and ZADD
-- Keys of another type make the script fail before anything is written.
redis.call('XLEN', dead_key)
redis.call('ZCARD', lanes_key)
local first, attempts = lane_first(parked_key, lane)
if first ~= id or redis.call('HEXISTS', laned_key, id) == 1 then return {} end
if wait_ms > 0 then
  redis.call('ZADD', lanes_key, now + wait_ms * 1000, lane)
  return {}
end
local m = message_find(log_key, id)
if not m or reason ~= '' or attempts >= max_deliveries then
  lane_leave(lanes_key, parked_key, laned_key, lane, id)
  if not m then
    message_trimmed(log_key, groups_key, group, id)
    return {}
  end
  message_bury(log_key, dead_key, group, id, m, attempts, reason ~= '' and reason or 'max_deliveries')
  return {dead = true}
end
redis.call('XCLAIM', log_key, group, consumer, 0, id, 'RETRYCOUNT', attempts + 1, 'FORCE', 'JUSTID')
redis.call('HSET', laned_key, id, lane)
redis.call('ZADD', lanes_key, now + LANE_LOOK, lane)
return {admitted = true, attempt = attempts + 1, message = m.m}
