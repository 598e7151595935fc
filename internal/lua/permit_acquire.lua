-- Leases the least recently used member that may be had, whose breaker is not open and whose bucket has the cost, passes the
-- breaker and charges the bucket; or says when and why not before, and may give the caller a place in the line.
-- USES clock once muldiv lifetime bands state bucket bucket_text breaker breaker_probe breaker_step breaker_store
-- USES line pool pool_wake pool_lease pool_view pool_pick pool_request pool_acquire permit
-- KEYS order (sorted set, as the next seven see prelude_pool.lua); meta (hash); changes (sorted set); members (hash);
--      tokens (hash); state (hash); heads (sorted set); breakers (hash); idle (sorted set, as the next three see
--      prelude_pool_view.lua); away (sorted set); seen (string); used (hash); line (sorted set, see prelude_line.lua);
--      beats (sorted set); sticky (string, the member; any key when there is no such name); buckets (hash, see
--      prelude_bucket_text.lua)
-- ARGV token (of the lease); lease_ms; session (id, empty = bound to its TTL); client (any bytes); instance (any bytes);
--      waiter (the caller's in the line, empty = it does not wait); beat_ms (its place lives so long, 0 = it leaves the line);
--      inboxes (what the names of the sidecars' channels begin with); exclude (members, each after its length and a colon);
--      sticky_ms (how long the name has the member, 0 = there is no name); cost (tokens); revision (of the rule, rises);
--      signature (all bands as text, empty = no bucket); overrides (members and their signatures, each after its length and a
--      colon); policy (of the breakers, empty = they are not asked)
-- RETURNS acquired (1 or 0); id; fence; meta; lease_ms (left, down); last_used_ms (in the scope before, 0 = never); reason (busy,
--      cooling, banned, empty, pause, open or limit); retry_us (until the soonest member, -1 = never); next_ms (that instant, up);
--      first (1 = nobody alive is before the caller in the line); more (1 = run again); generation (of the breaker, 0 = not asked);
--      probe (1 = it is one); remaining (tokens, down)
-- TTL members, tokens, state: none; used: see prelude_pool.lua; idle, away, seen: 10 min; sticky: sticky_ms; heads: 65 s;
--      line, beats: beat_ms and 60 s; breakers: see prelude_breaker_store.lua; buckets: until all are as if unused, 1 % and 1 s
-- COST O(changes since + members not possible + dead waiters), each at most 1,000, and O(log members)
return once(KEYS[17], ARGV[16], function()
  local r, left = permit_request(pool_request(), KEYS[16]), 0
  local reply, leased, id, m = pool_acquire(r, function(c, taken)
    permit_take(r, c, taken)
    left = c.s and bucket_left(c.s) or 0
    r.took = true
  end)
  if leased and not r.took then
    local s = r.bucket(redis.call('HGET', KEYS[16], id), id)
    left = s and bucket_left(s) or 0
  end
  reply[12], reply[13], reply[14] = leased and m.generation or 0, leased and m.probe or 0, left
  return reply, leased
end)
