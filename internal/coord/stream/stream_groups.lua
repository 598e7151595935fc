-- Lists the consumers of all groups of a stream.
-- USES stream_operate
-- KEYS log; dead; groups
-- ARGV
-- RETURNS rows; then; group; consumer; pending; idle_ms
-- TTL none is written
-- COST O(groups + consumers): XINFO, XPENDING
local rows = {}
for _, g in ipairs(groups_of(log_key)) do
  rows[#rows + 1] = {group = g.name, consumer = ''}
  local _, _, pending = pending_by_consumer(log_key, g.name)
  for _, flat in ipairs(redis.call('XINFO', 'CONSUMERS', log_key, g.name)) do
    local c = by_field(flat)
    rows[#rows + 1] = {group = g.name, consumer = c.name, pending = pending[c.name] or 0, idle_ms = math.max(c.idle, 0)}
  end
end
return {rows = rows}
