-- Tells a breaker what became of a call that it let through, and every sidecar if that changed its state.
-- USES clock once breaker breaker_probe breaker_window breaker_step breaker_store
-- KEYS breaker (hash, see prelude_breaker_store.lua)
-- ARGV field (of the hash); policy (text, see prelude_breaker.lua); generation (that let the call through, 0 = the present one);
--      probe (id, empty = it was none); outcome (success, failure or ignored); duration_us; channel (of the broadcast)
-- RETURNS counted (1 or 0); generation; was (the state before); state; open_us (until a call may pass, 0 = it may, -1 = never)
-- TTL breaker: while it is open or probes are out, 24 h, the longest that it opens for and its window
-- COST O(probes): HGET, and when it counts HSET and PEXPIRE, and when the state changes PUBLISH
return once(KEYS[2], ARGV[8], function()
  local p = breaker_policy(ARGV[2])
  local b, before = breaker_load(KEYS[1], ARGV[1])
  local was = breaker_state(b)
  local counted, changed = breaker_heard(b, p, tonumber(ARGV[3]), ARGV[4], ARGV[5], tonumber(ARGV[6]))
  breaker_save(KEYS[1], ARGV[1], b, p, before)
  if changed == 1 then breaker_tell(ARGV[7], KEYS[1]) end
  local at = breaker_ready(b, p)
  return {counted, b.generation, was, breaker_state(b), at > 0 and at - now or at}, breaker_text(b) ~= before
end)
