-- Holds a breaker in a state, or closes it and forgets what it counted, and has every sidecar forget what it remembers.
-- USES clock breaker breaker_step breaker_store
-- KEYS breaker (hash, see prelude_breaker_store.lua)
-- ARGV field (of the hash); policy (text, see prelude_breaker.lua); forced (1 = open, 2 = closed, 3 = disabled, 0 = in none:
--      it is closed); channel (of the broadcast)
-- RETURNS generation; was (the state before); state
-- TTL breaker: none while it is forced; else 24 h, the longest that it opens for and its window
-- COST O(probes): HGET, and when it changes HSET, PEXPIRE or PERSIST; PUBLISH
local p, forced = breaker_policy(ARGV[2]), tonumber(ARGV[3])
local b, before = breaker_load(KEYS[1], ARGV[1])
local was = breaker_state(b)
if forced ~= b.forced or forced == 0 and b.state ~= 0 then breaker_enter(b, 0) end
if forced == 0 then b.failures, b.slices, b.opened, b.ends = 0, {}, 0, 0 end
b.forced = forced
breaker_save(KEYS[1], ARGV[1], b, p, before)
-- Also when nothing changed: the reply of an earlier run may have been lost.
breaker_tell(ARGV[4], KEYS[1])
return {b.generation, was, breaker_state(b)}
