-- Gives back a member if the token holds it, removes a waiter from its waiting line, or both, and wakes the first waiters.
-- USES clock line breaker breaker_probe breaker_store unpacked pool pool_wake pool_lease pool_probe pool_release
-- KEYS order; meta; changes; members; tokens; state; heads; breakers; used; line; heartbeats
-- ARGV token; member; session; waiter; inboxes; outcome; cooldown_ms; unban_ms
-- RETURNS state; id; became; next_ms
-- TTL members, changes, state: none; used: see part_pool.lua; breakers: see lib/breaker_store.lua; heads: 65 s
-- COST O(probes + lines + dead waiters): HGET, and when it is held HSET, HDEL, ZADD and PUBLISH for each line
return pool_release(pool, {
  used = used_key, line = line_key, heartbeats = heartbeats_key, token = token, member = member, session = session, waiter = waiter,
  inboxes = inboxes, outcome = outcome, cooldown_ms = cooldown_ms, unban_ms = unban_ms,
})
