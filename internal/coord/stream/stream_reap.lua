-- Removes the consumers of a group that have no pending messages and have been idle for idle_ms: their pods are gone.
-- USES stream_operate
-- KEYS log; dead; groups
-- ARGV group; idle_ms
-- RETURNS reaped
-- TTL none
-- COST O(groups + consumers): XINFO, XPENDING, XGROUP
local reaped = 0
for _, g in ipairs(groups_of(log_key)) do
  if g.name == group then
    local _, _, pending = pending_by_consumer(log_key, group)
    for _, flat in ipairs(redis.call('XINFO', 'CONSUMERS', log_key, group)) do
      local c = by_field(flat)
      -- Both counts must be 0, XPENDING's and XINFO's: removing a consumer also removes its pending messages.
      if not pending[c.name] and c.pending == 0 and c.idle >= idle_ms then
        redis.call('XGROUP', 'DELCONSUMER', log_key, group, c.name)
        reaped = reaped + 1
      end
    end
  end
end
return reaped
