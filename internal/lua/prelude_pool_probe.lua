-- The probe of its breaker that a permit may have. A user uses breaker, breaker_probe, breaker_store and pool before it.

-- pool_probe does something with the probe, if the lease has one, and keeps the breaker.
local function pool_probe(id, m, act, arg)
  if m.probe == 0 then return end
  local b, before = breaker_load(BREAKERS, id)
  act(b, m.token, arg)
  breaker_save(BREAKERS, id, b, breaker_policy(m.policy), before)
end
