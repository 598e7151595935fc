-- Reads a breaker.
-- USES clock breaker breaker_window
-- KEYS breaker
-- ARGV field; policy
-- RETURNS state; generation; failures; successes; probes; open_us; opened; calls; failed; slow; changed_us; forced
-- TTL none is written
-- COST O(probes): HGET
local p = breaker_policy(policy)
local b = breaker_read(redis.call('HGET', breaker_key, field))
local probes, calls, failed, slow = 0, 0, 0, 0
for _, probe in ipairs(b.probes) do
  if probe.ends > now then probes = probes + 1 end
end
if p.window > 0 then calls, failed, slow = breaker_window(b, p) end
return {
  state = breaker_state(b), generation = b.generation, failures = b.failures, successes = b.successes, probes = probes,
  open_us = b.state == 1 and math.max(b.ends - now, 0) or 0, opened = b.opened, calls = calls, failed = failed, slow = slow,
  changed_us = b.changed, forced = b.forced > 0,
}
