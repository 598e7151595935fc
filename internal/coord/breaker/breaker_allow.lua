-- Decides whether a call may pass a breaker. While the breaker is half open, a call that passes is a probe.
-- USES clock breaker breaker_probe breaker_step breaker_store
-- KEYS breaker
-- ARGV field; policy; probe; session
-- RETURNS allowed; probe; retry_us; generation; was; state
-- TTL breaker: while it is open or probes are out, 24 h, the longest that it opens for and its window
-- COST O(probes), 27 us: HGET, and when it is a probe HSET and PEXPIRE
local p = breaker_policy(policy)
local b, before = breaker_load(breaker_key, field)
local at, was = breaker_ready(b, p)
-- A repeated call whose probe is still out passes again.
if at ~= 0 and not breaker_probe(b, probe) then
  return {retry_us = at < 0 and -1 or at - now, generation = b.generation, was = was, state = was}
end
local generation, is_probe = breaker_pass(b, p, probe, session)
breaker_save(breaker_key, field, b, p, before)
return {allowed = true, probe = is_probe, generation = generation, was = was, state = breaker_state(b)}, is_probe
