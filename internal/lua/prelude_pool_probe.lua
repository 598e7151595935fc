-- The probe of its breaker that a permit may have. A user uses breaker, breaker_probe, breaker_store and pool before it.

-- pool_probe does something with the probe, if the lease has one, and keeps the breaker.
local function pool_probe(pool, id, m, act, arg)
  if m.probe == 0 then return end
  local b, before = breaker_load(pool.breakers, id)
  act(b, m.token, arg)
  breaker_save(pool.breakers, id, b, breaker_policy(m.policy), before)
end
