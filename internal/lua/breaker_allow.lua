-- Says whether a call may pass a breaker, and gives it a probe while it is half open.
-- USES clock once breaker breaker_probe breaker_step breaker_store
-- KEYS breaker (hash, see prelude_breaker_store.lua)
-- ARGV field (of the hash); policy (text, see prelude_breaker.lua); probe (id of the one that the call is, if it is any);
--      session (id that holds it, empty = none)
-- RETURNS allowed (1 or 0); probe (1 = it is one); retry_us (until a call may pass, 0 = it may, -1 = never); generation;
--      was (the state before); state
-- TTL breaker: while it is open or probes are out, 24 h, the longest that it opens for and its window
-- COST O(probes): HGET, and when it is a probe HSET and PEXPIRE
return once(KEYS[2], ARGV[5], function()
  local p = breaker_policy(ARGV[2])
  local b, before = breaker_load(KEYS[1], ARGV[1])
  local at, was = breaker_ready(b, p)
  -- Who has its probe already is not in its own way.
  if at ~= 0 and not breaker_probe(b, ARGV[3]) then
    return {0, 0, at < 0 and -1 or at - now, b.generation, was, was}
  end
  local generation, probe = breaker_pass(b, p, ARGV[3], ARGV[4])
  breaker_save(KEYS[1], ARGV[1], b, p, before)
  return {1, probe, 0, generation, was, breaker_state(b)}, probe == 1
end)
