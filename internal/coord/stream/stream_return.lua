-- Gives a message back that a consumer has: it is delivered again at once.
-- USES clock stream
-- KEYS log; dead; groups; retry
-- ARGV group; consumer; id; untouched; broadcast
-- RETURNS state
-- TTL none
-- COST O(groups + log pending), 25 us: XINFO, XPENDING, XCLAIM, ZADD, PUBLISH
if not group_find(log_key, group) then return 0 end
local whose, attempts = pending_find(log_key, group, id)
if not whose then return 0 end
if whose ~= consumer then return 2 end
if untouched then
  redis.call('XCLAIM', log_key, group, consumer, 0, id, 'RETRYCOUNT', math.max(attempts - 1, 0), 'JUSTID')
end
redis.call('ZADD', retry_key, now, id)
redis.call('PUBLISH', broadcast, 'stream ' .. log_key)
return 1
