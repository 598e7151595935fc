-- Leases the least recently used member of a pool that is free. A refusal returns when a member is free and why not before, and may
-- enter the caller into the waiting line.
-- USES clock line pool pool_wake pool_lease pool_view pool_pick pool_acquire
-- KEYS order; meta; changes; members; tokens; state; heads; breakers; idle; away; seen; used; line; heartbeats; sticky
-- ARGV token; lease_ms; session; client; instance; waiter; heartbeat_ms; inboxes; exclude; sticky_ms
-- RETURNS acquired; id; fence; meta; lease_ms; last_used_ms; reason; retry_us; next_ms; first; more
-- TTL members, tokens, state: none; used: see part_pool.lua; idle, away, seen: 10 min; sticky: sticky_ms; heads: 65 s;
--      line, heartbeats: heartbeat_ms and 60 s
-- COST O(changes since + members not possible + dead waiters), each at most 1,000, and O(log members)
return pool_acquire(pool, view, {
  token = token, lease_ms = lease_ms, session = session, client = client, instance = instance, waiter = waiter,
  heartbeat_ms = heartbeat_ms, inboxes = inboxes, exclude = exclude, sticky = sticky_key, sticky_ms = sticky_ms,
})
