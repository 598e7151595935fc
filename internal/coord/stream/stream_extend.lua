-- Starts the visibility timeout of a message again, if the consumer has it.
-- USES stream
-- KEYS log; dead; groups; retry; lanes; parked; laned
-- ARGV group; consumer; id
-- RETURNS state
-- TTL none
-- COST O(groups + log pending): XINFO, ZSCORE, XPENDING, XCLAIM
if not group_find(log_key, group) or redis.call('ZSCORE', retry_key, id) then return 0 end
local whose, attempts = pending_find(log_key, group, id)
if not whose then return 0 end
if whose ~= consumer then return 2 end
-- The embedded store would count an attempt more if it were not told the number.
redis.call('XCLAIM', log_key, group, consumer, 0, id, 'RETRYCOUNT', attempts, 'JUSTID')
return 1
