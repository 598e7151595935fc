-- Counts the outcome of a call that a breaker allowed, and notifies every sidecar if that changed the breaker's state.
-- USES clock breaker breaker_probe breaker_window breaker_step breaker_store
-- KEYS breaker
-- ARGV field; policy; generation; probe; outcome; duration_us; channel
-- RETURNS counted; generation; was; state; open_us
-- TTL breaker: while it is open or probes are out, 24 h, the longest that it opens for and its window
-- COST O(probes), 27 us: HGET, and when it counts HSET and PEXPIRE, and when the state changes PUBLISH
local p = breaker_policy(policy)
local b, before = breaker_load(breaker_key, field)
local was = breaker_state(b)
local counted, changed = breaker_heard(b, p, generation, probe, outcome, duration_us)
breaker_save(breaker_key, field, b, p, before)
if changed then breaker_tell(channel, breaker_key) end
local at = breaker_ready(b, p)
return {
  counted = counted, generation = b.generation, was = was, state = breaker_state(b), open_us = at > 0 and at - now or at,
}, breaker_text(b) ~= before
