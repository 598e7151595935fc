-- A permit may hold a probe of its member's breaker. A script uses breaker, breaker_probe, breaker_store and pool before this part.

-- pool_probe calls act with the breaker, the probe's id and arg, if the lease holds a probe, and stores the breaker.
local function pool_probe(pool, id, m, act, arg)
  if m.probe == 0 then return end
  local b, before = breaker_load(pool.breakers, id)
  act(b, m.token, arg)
  breaker_save(pool.breakers, id, b, breaker_policy(m.policy), before)
end
