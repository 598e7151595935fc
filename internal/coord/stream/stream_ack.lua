-- Ends the delivery of a message to a group for good.
-- USES
-- KEYS log; dead; groups; retry
-- ARGV group; id
-- RETURNS acked
-- TTL none
-- COST O(log pending), 5 us: XACK, ZREM
redis.call('ZREM', retry_key, id)
return redis.call('XACK', log_key, group, id) == 1
