-- Leases the least recently used member that is possible: it is free, its breaker lets the call pass and its bucket, which is charged,
-- has the cost. A refusal returns when a member is possible and why not before, and may enter the caller into the waiting line.
-- USES clock muldiv lifetime bands state bucket bucket_text breaker breaker_probe breaker_step breaker_store
-- USES line pool pool_wake pool_lease pool_view pool_pick pool_acquire permit
-- KEYS order; meta; changes; members; tokens; state; heads; breakers; idle; away; seen; used; line; heartbeats; sticky; buckets
-- ARGV token; lease_ms; session; client; instance; waiter; heartbeat_ms; inboxes; exclude; sticky_ms; cost; revision; signature;
--      overrides; policy
-- RETURNS acquired; id; fence; meta; lease_ms; last_used_ms; reason; retry_us; next_ms; first; more; generation; probe; remaining
-- TTL members, tokens, state: none; used: see part_pool.lua; idle, away, seen: 10 min; sticky: sticky_ms; heads: 65 s;
--      line, heartbeats: heartbeat_ms and 60 s; breakers: see lib/breaker_store.lua; buckets: until all are as if unused, 1 % and 1 s
-- COST O(changes since + members not possible + dead waiters), each at most 1,000, and O(log members)
local r = {
  token = token, lease_ms = lease_ms, session = session, client = client, instance = instance, waiter = waiter,
  heartbeat_ms = heartbeat_ms, inboxes = inboxes, exclude = exclude, sticky = sticky_key, sticky_ms = sticky_ms,
  buckets = buckets_key, cost = cost, revision = revision, signature = signature, overrides = overrides, policy = policy,
}
permit_request(pool, r)
local taken
local reply, leased, id, m = pool_acquire(pool, view, r, function(c, lease)
  permit_take(pool, r, c, lease)
  taken = c
end)
if not leased then return reply, false end
-- A repeated run returns its lease and has not read the bucket yet.
local left = taken and taken.bucket or not taken and r.bucket(redis.call('HGET', buckets_key, id), id)
reply.generation, reply.probe, reply.remaining = m.generation, m.probe == 1, left and bucket_left(left)
return reply, true
