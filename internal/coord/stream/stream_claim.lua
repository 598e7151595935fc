-- Takes messages that were delivered to a group and are to be delivered again: those whose delay is over, and those that were
-- not acknowledged or extended for visibility_ms. Messages that were delivered max_deliveries times are moved to the dead
-- letters, deleted ones are counted and acknowledged, and those for another group are acknowledged. One run looks at no more
-- than 100 messages of each of the two kinds, and takes no more once it has taken 1 MiB.
-- USES clock stream lane lane_leave lane_back
-- KEYS log; dead; groups; retry; lanes; parked; laned
-- ARGV group; consumer; visibility_ms; max_deliveries; count; after
-- RETURNS missing; dead; trimmed; next; more; retry_ms; last; claimed; then; id; attempt; message; only
-- TTL none
-- COST O(groups + pending + 200 log pending): XINFO, XPENDING, and for each XRANGE, XCLAIM, or XADD and XACK
local g = group_find(log_key, group)
if not g then return {missing = true} end
-- Keys of another type make the script fail before anything is written.
redis.call('XLEN', dead_key)
redis.call('ZCARD', retry_key)
redis.call('HLEN', laned_key)
local out = {claimed = {}, dead = 0, trimmed = 0, next = '', last = g['last-delivered-id']}
if redis.call('HGET', groups_key, group) ~= out.last then redis.call('HSET', groups_key, group, out.last) end

local bytes = 0
-- take returns false if it leaves the message, since count or 1 MiB is reached.
local function take(id, attempts)
  local m = message_find(log_key, id)
  if not m then
    message_trimmed(log_key, groups_key, group, id)
    lane_end(lanes_key, parked_key, laned_key, id)
    out.trimmed = out.trimmed + 1
  elseif m.g and m.g ~= group then
    redis.call('XACK', log_key, group, id)
  elseif attempts >= max_deliveries then
    message_bury(log_key, dead_key, group, id, m, attempts, 'max_deliveries')
    lane_end(lanes_key, parked_key, laned_key, id)
    out.dead = out.dead + 1
  elseif lane_back(lanes_key, parked_key, laned_key, log_key, group, id, attempts, now) then
    -- The message is the first of its lane again.
  elseif #out.claimed < count and bytes < 1048576 then
    redis.call('XCLAIM', log_key, group, consumer, 0, id, 'RETRYCOUNT', attempts + 1, 'JUSTID')
    out.claimed[#out.claimed + 1] = {id = id, attempt = attempts + 1, message = m.m, only = m.g or ''}
    bytes = bytes + #m.m
  else
    out.more = true
    return false
  end
  redis.call('ZREM', retry_key, id)
  return true
end

for _, id in ipairs(redis.call('ZRANGEBYSCORE', retry_key, '-inf', now, 'LIMIT', 0, 100)) do
  local _, attempts = pending_find(log_key, group, id)
  if attempts then take(id, attempts) else redis.call('ZREM', retry_key, id) end
end
-- The range includes after, since the embedded store has no exclusive ranges; the loop skips it.
local idle = redis.call('XPENDING', log_key, group, 'IDLE', visibility_ms, after == '' and '-' or after, '+', 101)
local last, left = after, nil
for _, p in ipairs(idle) do
  local looked = p[1] == after or redis.call('ZSCORE', retry_key, p[1]) or take(p[1], tonumber(p[4]))
  if not looked and not left then left = last end
  last = p[1]
end
-- If the caller takes messages, the next run begins with the first one that was left. If it has no capacity (count is 0), the
-- next run goes on behind them, to move the messages there that had their last attempt to the dead letters.
if left and count > 0 then out.next = left elseif #idle == 101 then out.next = last end
local next = redis.call('ZRANGE', retry_key, 0, 0, 'WITHSCORES')[2]
out.retry_ms = next and math.max(math.ceil((tonumber(next) - now) / 1000), 0) or -1
return out
