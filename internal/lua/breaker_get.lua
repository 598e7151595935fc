-- Reads a breaker.
-- USES clock breaker breaker_window
-- KEYS breaker (hash, see prelude_breaker_store.lua)
-- ARGV field (of the hash); policy (text, see prelude_breaker.lua)
-- RETURNS state; generation; failures (in a row while closed); successes (of probes while half open); probes (out now);
--      open_us (left of being open); opened (times in a row); calls (in the window); failed; slow; changed_us (0 = never);
--      forced (1 or 0)
-- TTL none is written
-- COST O(probes): HGET
local p = breaker_policy(ARGV[2])
local b = breaker_read(redis.call('HGET', KEYS[1], ARGV[1]))
local probes, calls, failed, slow = 0, 0, 0, 0
for _, probe in ipairs(b.probes) do
  if probe.ends > now then probes = probes + 1 end
end
if p.window > 0 then calls, failed, slow = breaker_window(b, p) end
return {
  breaker_state(b), b.generation, b.failures, b.successes, probes, b.state == 1 and math.max(b.ends - now, 0) or 0, b.opened,
  calls, failed, slow, b.changed, b.forced > 0 and 1 or 0,
}
