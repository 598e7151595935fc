-- Reads one page of the breakers in a hash, such as those of a pool's members.
-- USES clock breaker breaker_window breaker_step breaker_view
-- KEYS breakers
-- ARGV cursor; count; policy
-- RETURNS cursor; members; then; name; state; generation; failures; successes; probes; open_us; opened; calls; failed; slow;
--      changed_us; forced; retry_us; most; probe_us
-- TTL none is written
-- COST O(count): HSCAN, which returns a hash of few fields whole
local next_cursor, flat = unpack(redis.call('HSCAN', breakers_key, cursor, 'COUNT', count))
local p, members = breaker_policy(policy), {}
for i = 1, #flat, 2 do
  local view = breaker_view(breaker_read(flat[i + 1]), p)
  view.name = flat[i]
  members[#members + 1] = view
end
table.sort(members, function(a, b) return a.name < b.name end)
return {cursor = next_cursor, members = members}
