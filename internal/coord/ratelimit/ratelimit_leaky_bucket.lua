-- Charges a leaky bucket (GCRA), all bands or none, or says when it may succeed.
-- USES clock muldiv lifetime bands state gcra leaky pace admit
-- LATER line leases permit
-- KEYS state; pace; leases; holders; line; heartbeats
-- ARGV cost; peek; wait_us; revision; signature; id; max_concurrent; hold_ms; session; client; instance; waiter; heartbeat_ms;
--      inboxes
-- RETURNS allowed; band; remaining; current; retry_after_us; reset_after_us; now_us; denied; newer; first; bands; then; remaining;
--      current; reset_after_us
-- TTL state: until it is as if unused, 1 % and 1 s longer; pace, leases, holders, line, heartbeats: see their parts
-- COST O(bands + ended leases + dead waiters), 29 us: GET, HMGET, and when it took something SET
local s = leaky.open(stored(state_key, leaky, charge.signature, charge.revision))
return admit(leaky, s, pace_key, charge, permit.max_concurrent > 0 and later()(permit, charge))
