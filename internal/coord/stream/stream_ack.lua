-- Ends the delivery of a message to a group for good.
-- USES
-- LATER clock lane lane_leave
-- KEYS log; dead; groups; retry; lanes; parked; laned
-- ARGV group; id
-- RETURNS acked
-- TTL none
-- COST O(log pending), 10 us: ZCARD, XACK, ZREM, HGET
-- A key of another type makes the script fail before anything is written.
redis.call('ZCARD', retry_key)
local acked = redis.call('XACK', log_key, group, id)
redis.call('ZREM', retry_key, id)
local lane = redis.call('HGET', laned_key, id)
if lane then later()(lanes_key, parked_key, laned_key, lane, id) end
return acked == 1
