-- Charges a token bucket ahead, all bands or none, or says when the cost may succeed; takes back an earlier block.
-- USES clock muldiv lifetime bands state bucket gate admit credit bucket_credit lease_back lease
-- TEXTS state
-- RARE gate
-- KEYS state; gate
-- ARGV cost; most; revision; signature; unused; at_us
-- RETURNS allowed; band; remaining; current; retry_after_us; reset_after_us; now_us; denied; newer; taken; returned; ends_us
-- TTL state: until it is as if unused, 1 % and 1 s longer; gate: see part_gate.lua
-- COST O(bands), 40 us: MGET and EXISTS for all items of a run, and when it took or took back something SET
local s = bucket.open(stored(state_key, bucket, block.signature, block.revision))
return lease(bucket, s, gate_key, rare and gate_read(gate_key), block)
