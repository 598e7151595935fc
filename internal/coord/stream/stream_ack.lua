-- Ends the delivery of a message to a group for good.
-- USES
-- KEYS log; dead; groups; retry
-- ARGV group; id
-- RETURNS acked
-- TTL none
-- COST O(log pending), 8 us: ZCARD, XACK, ZREM
-- One of another type fails before anything is written.
redis.call('ZCARD', retry_key)
local acked = redis.call('XACK', log_key, group, id)
redis.call('ZREM', retry_key, id)
return acked == 1
