-- Gives back a message that a consumer holds: it is delivered again at once. A message that waits for its delay, or was given
-- back before, stays as it is.
-- USES clock stream lane lane_leave lane_back
-- KEYS log; dead; groups; retry; lanes; parked; laned
-- ARGV group; consumer; id; untouched; broadcast
-- RETURNS state
-- TTL none
-- COST O(groups + log pending): XINFO, XPENDING, ZSCORE, XCLAIM, ZCOUNT, ZADD, PUBLISH
if not group_find(log_key, group) then return 0 end
local holder, attempts = pending_find(log_key, group, id)
if not holder then return 0 end
if holder ~= consumer then return 2 end
if redis.call('ZSCORE', retry_key, id) then return 1 end
if untouched then attempts = math.max(attempts - 1, 0) end
if lane_back(lanes_key, parked_key, laned_key, log_key, group, id, attempts, now) then
  redis.pcall('PUBLISH', broadcast, table.concat({'stream ', log_key}))
  return 1
end
if untouched then
  redis.call('XCLAIM', log_key, group, consumer, 0, id, 'RETRYCOUNT', attempts, 'JUSTID')
end
-- A message that is due already has been broadcast, and its broadcast covers this one.
local first = redis.call('ZCOUNT', retry_key, '-inf', now) == 0
redis.call('ZADD', retry_key, now, id)
if first then redis.pcall('PUBLISH', broadcast, table.concat({'stream ', log_key})) end
return 1
