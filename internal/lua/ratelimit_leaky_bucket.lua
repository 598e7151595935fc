-- Charges a leaky bucket (GCRA), all bands or none, or says when it may succeed.
-- USES clock once muldiv lifetime bands state gcra leaky gate admit request
-- LATER line leases seat
-- KEYS state (hash, see prelude_leaky.lua); gate (hash, see prelude_gate.lua);
--      leases (sorted set, see prelude_leases.lua, as the rest only with max_concurrent); holders (hash);
--      line (sorted set, see prelude_line.lua); beats (sorted set)
-- ARGV cost (tokens); peek (1 = take nothing, 2 = and tell every band); wait_us (how far away the slot may be);
--      revision (of the rule, rises); signature (all bands as text); id (of what is charged); max_concurrent (leases at once,
--      0 = any number); hold_ms (how long a lease lives); session (id, empty = none); client (any bytes); instance (any bytes);
--      waiter (the caller's in the line, empty = it does not wait); beat_ms (its place lives so long, 0 = it leaves the line);
--      inboxes (what the names of the sidecars' channels begin with)
-- RETURNS allowed (1, 2 = at the slot, or 0); band (from 1); remaining (tokens, down); current (tokens, up);
--      retry_after_us (-1 = never; when allowed is 2, until the slot); reset_after_us; now_us;
--      denied (limit, pause, delay, concurrency or empty); newer (all bands of the rule that decided, if it is newer than the
--      caller's, else empty); first (1 = nobody alive is before the caller in the line);
--      bands (how many follow); then (for each); remaining; current; reset_after_us
-- TTL state: until it is as if unused, 1 % and 1 s longer; gate, leases, holders, line, beats: see their preludes
-- COST O(bands + ended leases + dead waiters): HMGET twice, and when it took something HSET and PEXPIRE
return once(latch, ARGV[15], function()
  local r = request(later)
  return admit(leaky, leaky.open(stored(leaky, r.sig, r.revision)), r)
end)
