-- Binds a probe to another session, without extending it.
-- USES clock breaker breaker_probe breaker_step breaker_store
-- KEYS breaker
-- ARGV field; policy; probe; session
-- RETURNS left_us; generation; state; retry_us
-- TTL breaker: while it is open or probes are out, 24 h, the longest that it opens for and its window
-- COST O(probes), 55 us: HGET, and when it is out HSET and PEXPIRE
local p = breaker_policy(policy)
local b, before = breaker_load(breaker_key, field)
local i, left_us = breaker_probe(b, probe), 0
if i then
  b.probes[i].session, left_us = session, b.probes[i].ends - now
  breaker_save(breaker_key, field, b, p, before)
end
local at, state = breaker_ready(b, p)
return {left_us = left_us, generation = b.generation, state = state, retry_us = at > 0 and at - now or at}
