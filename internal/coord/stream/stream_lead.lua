-- Makes a consumer the only one that reads a group with lanes, and gives it what was read before and is in no lane.
-- USES clock stream
-- KEYS log; dead; groups; lanes; parked; laned; leader
-- ARGV group; consumer; lease_ms; after
-- RETURNS missing; leads; next; claimed; then; id; attempt; message; only
-- TTL leader: lease_ms; log, laned: none
-- COST O(groups + 100 log pending): XINFO, GET, SET, XPENDING, and for each HEXISTS, XRANGE, XCLAIM
if not group_find(log_key, group) then return {missing = true, claimed = {}} end
-- One of another type fails before anything is written.
redis.call('HLEN', laned_key)
local whose = redis.call('GET', leader_key)
if whose and whose ~= consumer then return {claimed = {}} end
redis.call('SET', leader_key, consumer, 'PX', lease_ms)
local out = {leads = true, next = '', claimed = {}}
if whose and after == '' then return out end
for i, p in ipairs(redis.call('XPENDING', log_key, group, after == '' and '-' or after, '+', 101)) do
  local id, attempts = p[1], tonumber(p[4])
  if id ~= after and redis.call('HEXISTS', laned_key, id) == 0 then
    local m = message_find(log_key, id)
    if m then
      redis.call('XCLAIM', log_key, group, consumer, 0, id, 'RETRYCOUNT', attempts, 'JUSTID')
      out.claimed[#out.claimed + 1] = {id = id, attempt = attempts, message = m.m, only = m.g or ''}
    else
      message_trimmed(log_key, groups_key, group, id)
    end
  end
  if i == 101 then out.next = id end
end
return out
