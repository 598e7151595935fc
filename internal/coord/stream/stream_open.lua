-- Makes a group if it does not exist. A group that was lost begins behind the last message that is known to have been delivered
-- to it, but never beyond the end of the stream: the stream may end earlier after a failover, or after it was deleted, and new
-- messages before that id would not be delivered. The script changes nothing if the group delivers by another field than field
-- (empty = not by key).
-- USES stream
-- KEYS log; dead; groups; retry; lanes; parked; laned
-- ARGV group; from; field
-- RETURNS created; last; by
-- TTL none
-- COST O(groups): XINFO twice, HGET, XGROUP CREATE, HSET twice
local g, by = group_find(log_key, group), redis.call('HGET', laned_key, '') or ''
if g or by ~= '' and by ~= field then return {last = g and g['last-delivered-id'] or '', by = by} end
local function before(a, b)
  local a_ms, a_n = string.match(a, '^(%d+)-(%d+)$')
  local b_ms, b_n = string.match(b, '^(%d+)-(%d+)$')
  a_ms, b_ms = tonumber(a_ms), tonumber(b_ms)
  return a_ms < b_ms or a_ms == b_ms and tonumber(a_n) < tonumber(b_n)
end
local start, known = from, redis.call('HGET', groups_key, group)
if known and (start == '$' or before(start, known)) then start = known end
if start ~= '$' then
  local last = redis.call('XREVRANGE', log_key, '+', '-', 'COUNT', 1)[1]
  last = last and last[1] or '0-0'
  if before(last, start) then start = last end
end
redis.call('XGROUP', 'CREATE', log_key, group, start, 'MKSTREAM')
local last = group_find(log_key, group)['last-delivered-id']
redis.call('HSET', groups_key, group, last)
if field ~= by then redis.call('HSET', laned_key, '', field) end
return {created = true, last = last, by = field}
