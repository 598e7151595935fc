-- Gives back a probe whose outcome is not known, so that another call may be a probe.
-- USES clock breaker breaker_probe breaker_store
-- KEYS breaker
-- ARGV field; policy; probe; session
-- RETURNS state
-- TTL breaker: while it is open or probes are out, 24 h, the longest that it opens for and its window
-- COST O(probes): HGET, and when it was out HSET and PEXPIRE
local b, before = breaker_load(breaker_key, field)
local state = breaker_drop(b, probe, session)
breaker_save(breaker_key, field, b, breaker_policy(policy), before)
return state
