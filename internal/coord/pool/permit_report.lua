-- Gives back a permit's member, counts the outcome in its breaker and its cooldown, sets its pause, and wakes the first waiters.
-- USES clock line breaker breaker_probe breaker_window breaker_step breaker_store
-- USES unpacked pool pool_wake pool_lease pool_probe pool_release
-- KEYS order; meta; changes; members; tokens; state; heads; breakers; used; line; heartbeats
-- ARGV token; member; session; waiter; inboxes; outcome; cooldown_ms; unban_ms; heard; duration_us; pause_us; jitter; channel
-- RETURNS state; id; became; next_ms; was; breaker
-- TTL members, changes, state: none; used: see part_pool.lua; breakers: see lib/breaker_store.lua; heads: 65 s
-- COST O(probes + lines + dead waiters): HGET twice, and when it is held HSET, HDEL, ZADD and PUBLISH for each line
local was, is, turned = '', '', false
local reply = pool_release(pool, {
  used = used_key, line = line_key, heartbeats = heartbeats_key, token = token, member = member, session = session, waiter = waiter,
  inboxes = inboxes, outcome = outcome, cooldown_ms = cooldown_ms, unban_ms = unban_ms,
}, function(id, m)
  local at = 0
  if pause_us > 0 then m.pause = math.max(m.pause, now + pause_us) end
  if m.policy ~= '' then
    local p = breaker_policy(m.policy)
    p.jitter = jitter
    local b, before = breaker_load(pool.breakers, id)
    was = breaker_state(b)
    turned = select(2, breaker_heard(b, p, m.generation, m.probe == 1 and m.token or '', heard, duration_us))
    breaker_save(pool.breakers, id, b, p, before)
    at, is = breaker_ready(b, p)
  end
  return at < 0 and at or math.max(at, m.pause > now and m.pause or 0)
end)
reply.was, reply.breaker = was, is
if turned then breaker_tell(channel, pool.breakers) end
return reply
