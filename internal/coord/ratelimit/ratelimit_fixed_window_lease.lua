-- Charges fixed windows ahead, all bands or none, or says when the cost may succeed; takes back an earlier block.
-- USES clock lifetime bands state window pace admit window_credit lease_back lease
-- TEXTS state
-- RARE pace
-- KEYS state; pace
-- ARGV cost; most; revision; signature; unused; at_us
-- RETURNS allowed; band; remaining; current; retry_after_us; reset_after_us; now_us; denied; newer; taken; returned; ends_us
-- TTL state: two periods from the start of the last window charged, 1 % and 1 s longer; pace: see part_pace.lua
-- COST O(bands), 50 us: MGET and EXISTS for all items of a run, and when it took or took back something SET
local s = window.open(stored(state_key, window, block.signature, block.revision))
local out, wrote = lease(window, s, pace_key, rare and pace_read(pace_key), block)
-- A block ends with the first of its windows to end, since its tokens do not belong to a later window.
for _, b in ipairs(s.bands) do
  local ends = b.r + b.ms * 1000 - now
  if not out.ends_us or ends < out.ends_us then out.ends_us = ends end
end
return out, wrote
