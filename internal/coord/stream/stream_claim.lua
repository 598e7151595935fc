-- Takes messages that were delivered to a group and are to be delivered again: those whose delay is over, and those that
-- nobody acknowledged or extended for visibility_ms. Those that were delivered max_deliveries times are moved to the dead
-- letters, and those that were deleted are counted and acknowledged.
-- USES clock stream
-- KEYS log; dead; groups; retry
-- ARGV group; consumer; visibility_ms; max_deliveries; count; after
-- RETURNS missing; dead; trimmed; next; retry_ms; last; claimed; then; id; attempt; message; only
-- TTL none
-- COST O(groups + 100 log pending): XINFO, XPENDING, and for each XRANGE, XCLAIM, or XADD and XACK
local g = group_find(log_key, group)
if not g then return {missing = true} end
local out = {claimed = {}, dead = 0, trimmed = 0, next = '', last = g['last-delivered-id']}
if redis.call('HGET', groups_key, group) ~= out.last then redis.call('HSET', groups_key, group, out.last) end

local function take(id, attempts)
  local m = message_find(log_key, id)
  if not m then
    message_trimmed(log_key, groups_key, group, id)
    out.trimmed = out.trimmed + 1
  elseif attempts >= max_deliveries then
    message_bury(log_key, dead_key, group, id, m, attempts, 'max_deliveries')
    out.dead = out.dead + 1
  elseif #out.claimed < count then
    redis.call('XCLAIM', log_key, group, consumer, 0, id, 'RETRYCOUNT', attempts + 1, 'JUSTID')
    out.claimed[#out.claimed + 1] = {id = id, attempt = attempts + 1, message = m.m, only = m.g or ''}
  else
    return false
  end
  redis.call('ZREM', retry_key, id)
  return true
end

for _, id in ipairs(redis.call('ZRANGEBYSCORE', retry_key, '-inf', now, 'LIMIT', 0, 100)) do
  local _, attempts = pending_find(log_key, group, id)
  if not attempts then
    redis.call('ZREM', retry_key, id)
  elseif not take(id, attempts) then
    break
  end
end
local from = after == '' and '-' or '(' .. after
local idle = redis.call('XPENDING', log_key, group, 'IDLE', visibility_ms, from, '+', 100)
for i, p in ipairs(idle) do
  if not redis.call('ZSCORE', retry_key, p[1]) and not take(p[1], tonumber(p[4])) then break end
  if i == 100 then out.next = p[1] end
end
local next = redis.call('ZRANGE', retry_key, 0, 0, 'WITHSCORES')[2]
out.retry_ms = next and math.max(math.ceil((tonumber(next) - now) / 1000), 0) or -1
return out
