-- Gives a permit's member back, tells its breaker, its cooldown and its pause how the work went, and tells whose turn it is.
-- USES clock line breaker breaker_probe breaker_window breaker_step breaker_store pool pool_wake pool_lease pool_probe pool_release
-- KEYS order (sorted set, as the next seven see prelude_pool.lua); meta (hash); changes (sorted set); members (hash);
--      tokens (hash); state (hash); heads (sorted set); breakers (hash); used (hash, of the scope); line (sorted set, see
--      prelude_line.lua); beats (sorted set)
-- ARGV token (of the lease, empty = none); member (empty = which the token has); session (id, empty = any); waiter (that leaves
--      the line, empty = none); inboxes (what the names of the sidecars' channels begin with); outcome (its name on the wire,
--      empty = not known); cooldown_ms (at least); unban_ms (after which a ban by the outcome ends, 0 = without an end);
--      heard (what the breaker is told: success, failure or ignored); duration_us; pause_us (from now, 0 = none is asked for);
--      jitter (of the policy, thousandths); channel (of the broadcast when the breaker's state changes)
-- RETURNS state (LockState in lock.go); id (the member); became (free, cooling, banned or empty); next_ms (when it may be had again,
--      up, 0 = now, -1 = not as things are); was (the breaker's state before, empty = it was not asked); breaker (its state)
-- TTL members, changes, state: none; used: see prelude_pool.lua; breakers: see prelude_breaker_store.lua; heads: 65 s
-- COST O(probes + lines + dead waiters): HGET twice, and when it is held HSET, HDEL, ZADD and PUBLISH for each line
local was, is, turned = '', '', 0
local reply = pool_release(KEYS[9], KEYS[10], KEYS[11], function(id, m)
  local pause, at = tonumber(ARGV[11]), 0
  if pause > 0 then m.pause = math.max(m.pause, now + pause) end
  if m.policy ~= '' then
    local p = breaker_policy(m.policy)
    p.jitter = tonumber(ARGV[12])
    local b, before = breaker_load(BREAKERS, id)
    was = breaker_state(b)
    local probe = m.probe == 1 and m.token or ''
    turned = select(2, breaker_heard(b, p, m.generation, probe, ARGV[9], tonumber(ARGV[10])))
    breaker_save(BREAKERS, id, b, p, before)
    at, is = breaker_ready(b, p)
  end
  return at < 0 and at or math.max(at, m.pause > now and m.pause or 0)
end)
reply[5], reply[6] = was, is
if turned == 1 then breaker_tell(ARGV[13], BREAKERS) end
return reply
