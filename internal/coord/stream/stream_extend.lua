-- Starts the visibility timeout of a message again, if the consumer holds it.
-- USES stream
-- KEYS log; dead; groups; retry; lanes; parked; laned
-- ARGV group; consumer; id
-- RETURNS state
-- TTL none
-- COST O(groups + log pending): XINFO, ZSCORE, XPENDING, XCLAIM
if not group_find(log_key, group) or redis.call('ZSCORE', retry_key, id) then return 0 end
local holder, attempts = pending_find(log_key, group, id)
if not holder then return 0 end
if holder ~= consumer then return 2 end
-- Without RETRYCOUNT the embedded store would count another attempt.
redis.call('XCLAIM', log_key, group, consumer, 0, id, 'RETRYCOUNT', attempts, 'JUSTID')
return 1
