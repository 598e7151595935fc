-- Gives a probe back of which nothing is known, so that another call may be one.
-- USES clock breaker breaker_probe breaker_store
-- KEYS breaker (hash, see prelude_breaker_store.lua)
-- ARGV field (of the hash); policy (text, see prelude_breaker.lua); probe (id); session (that has it, empty = whichever)
-- RETURNS state (ProbeState in breaker.go)
-- TTL breaker: while it is open or probes are out, 24 h, the longest that it opens for and its window
-- COST O(probes): HGET, and when it was out HSET and PEXPIRE
local p = breaker_policy(ARGV[2])
local b, before = breaker_load(KEYS[1], ARGV[1])
local state = breaker_drop(b, ARGV[3], ARGV[4])
breaker_save(KEYS[1], ARGV[1], b, p, before)
return {state}
