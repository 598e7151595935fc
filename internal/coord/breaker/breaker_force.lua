-- Forces a breaker into a state, or resets it, which closes it and clears its counts; makes every sidecar drop its cached answers for
-- it.
-- USES clock breaker breaker_step breaker_store
-- KEYS breaker
-- ARGV field; policy; forced; channel
-- RETURNS generation; was; state
-- TTL breaker: none while it is forced; else 24 h, the longest that it opens for and its window
-- COST O(probes): HGET, and when it changes HSET, PEXPIRE or PERSIST; PUBLISH
local b, before = breaker_load(breaker_key, field)
local was = breaker_state(b)
if forced ~= b.forced or forced == 0 and b.state ~= 0 then breaker_enter(b, 0) end
if forced == 0 then b.failures, b.slices, b.opened, b.ends = 0, {}, 0, 0 end
b.forced = forced
breaker_save(breaker_key, field, b, breaker_policy(policy), before)
-- Publishes even if nothing changed: an earlier run may have made the change, and its reply may have been lost.
breaker_tell(channel, breaker_key)
return {generation = b.generation, was = was, state = breaker_state(b)}
