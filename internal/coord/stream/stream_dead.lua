-- Reads a page of dead letters, the oldest first: at most count of them, with at most that many bytes together, but at least
-- one.
-- USES stream_operate
-- KEYS log; dead; groups
-- ARGV after; count; bytes
-- RETURNS more; letters; then; id; message_id; group; attempts; reason; message
-- TTL none is written
-- COST O(count): XRANGE
local letters, from, size = {}, after == '' and '-' or table.concat({'(', after}), 0
while true do
  local page = redis.call('XRANGE', dead_key, from, '+', 'COUNT', 8)
  for _, found in ipairs(page) do
    local d = by_field(found[2])
    local message, reason = d.m or '', d.reason or ''
    size = size + #message + #reason
    if #letters == count or #letters > 0 and size > bytes then return {more = true, letters = letters} end
    letters[#letters + 1] = {
      id = found[1], message_id = d.id or '', group = d.group or '', attempts = tonumber(d.attempts) or 0, reason = reason,
      message = message,
    }
    from = table.concat({'(', found[1]})
  end
  if #page < 8 then return {more = false, letters = letters} end
end
