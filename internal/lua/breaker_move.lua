-- Has another session hold a probe, which lives no longer for that.
-- USES clock breaker breaker_probe breaker_step breaker_store
-- KEYS breaker (hash, see prelude_breaker_store.lua)
-- ARGV field (of the hash); policy (text, see prelude_breaker.lua); probe (id); session (id, empty = none)
-- RETURNS left_us (that the probe lives, 0 = it is not out); generation; state; retry_us (until a call may pass, 0 = it may,
--      -1 = never)
-- TTL breaker: while it is open or probes are out, 24 h, the longest that it opens for and its window
-- COST O(probes): HGET, and when it is out HSET and PEXPIRE
local p = breaker_policy(ARGV[2])
local b, before = breaker_load(KEYS[1], ARGV[1])
local i, left = breaker_probe(b, ARGV[3]), 0
if i then
  b.probes[i].session, left = ARGV[4], b.probes[i].ends - now
  breaker_save(KEYS[1], ARGV[1], b, p, before)
end
local at, state = breaker_ready(b, p)
return {left, b.generation, state, at > 0 and at - now or at}
