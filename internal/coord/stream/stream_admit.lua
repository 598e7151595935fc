-- Delivers the first message of a lane, or has the lane wait.
-- USES clock stream stream_lane
-- KEYS log; dead; groups; lanes; parked; laned
-- ARGV group; consumer; lane; id; attempt; wait_ms
-- RETURNS admitted
-- TTL none
-- COST O(log parked + log pending): ZRANGEBYLEX, and ZADD, or ZREM, XCLAIM, HSET and ZADD
redis.call('HLEN', laned_key)
local first, _, member = lane_first(parked_key, lane)
if first ~= id or redis.call('HGET', laned_key, id) then return false end
if wait_ms > 0 then
  redis.call('ZADD', lanes_key, now + wait_ms * 1000, lane)
  return false
end
redis.call('XCLAIM', log_key, group, consumer, 0, id, 'RETRYCOUNT', attempt, 'FORCE', 'JUSTID')
if not pending_find(log_key, group, id) then
  redis.call('ZREM', parked_key, member)
  redis.call('HINCRBY', groups_key, '', 1)
  lane_open(lanes_key, parked_key, lane, now)
  return false
end
redis.call('ZREM', parked_key, member)
redis.call('HSET', laned_key, id, lane)
redis.call('ZADD', lanes_key, LANE_BUSY, lane)
return true
