-- Reads a page of a stream, the oldest message first: at most count of them, with at most that many bytes together, but at
-- least one. It does not depend on groups, and changes none.
-- USES stream_operate
-- KEYS log; dead; groups
-- ARGV after; newest; count; bytes
-- RETURNS last; more; messages; then; id; message; only
-- TTL none is written
-- COST O(count): XRANGE
local last = after == '' and '0-0' or after
if newest then
  local found = redis.call('XREVRANGE', log_key, '+', '-', 'COUNT', 1)[1]
  return {last = found and found[1] or '0-0', more = false, messages = {}}
end
local messages, size = {}, 0
while true do
  local page = redis.call('XRANGE', log_key, table.concat({'(', last}), '+', 'COUNT', 8)
  for _, found in ipairs(page) do
    local m = by_field(found[2])
    local message = m.m or ''
    size = size + #message
    if #messages == count or #messages > 0 and size > bytes then return {last = last, more = true, messages = messages} end
    messages[#messages + 1] = {id = found[1], message = message, only = m.g or ''}
    last = found[1]
  end
  if #page < 8 then return {last = last, more = false, messages = messages} end
end
