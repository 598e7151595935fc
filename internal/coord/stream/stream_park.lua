-- Puts messages into their lanes that the leader has read: they are not pending any more, and wait.
-- USES clock stream stream_lane
-- KEYS log; dead; groups; lanes; parked; laned; leader
-- ARGV group; consumer; ids; within
-- RETURNS leads; parked
-- TTL lanes, parked: none
-- COST O(messages log parked): GET, and for each XACK, ZADD, ZSCORE
if redis.call('GET', leader_key) ~= consumer then return {} end
-- Those of another type fail before anything is written.
redis.call('ZCARD', lanes_key)
redis.call('HLEN', laned_key)
for i, id in ipairs(ids) do
  if redis.call('XACK', log_key, group, id) == 1 then
    redis.call('ZADD', parked_key, 0, lane_member(within[i], id, 0))
    if not redis.call('ZSCORE', lanes_key, within[i]) then redis.call('ZADD', lanes_key, now, within[i]) end
  end
end
return {leads = true, parked = redis.call('ZCARD', parked_key)}
