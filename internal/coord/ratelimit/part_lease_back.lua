-- lease_back takes back the unused tokens of a block that was charged to a state s at an instant (us), and returns whether it
-- changed anything. It does not if the state began later, by a reset or with other bands, since it does not count the block.
--
-- Returning a block has to leave at least as much used as if its unused part had never been charged, or more would be
-- let through than the limit. A bucket may have been full meanwhile but for the block; then all that refilled since the
-- charge refilled what the block took, and would have been lost without it. So that much is never credited
-- (bucket.refund), which is right however late a block comes back: with other blocks out, what is used is never less
-- than the sum of what they could be credited, as any refill takes at least its own amount from that sum. A window
-- loses nothing to refills and credits all of it, in the window of the charge alone (window.refund).
local function lease_back(a, s, unused, at)
  return unused > 0 and not s.begins and s.from <= at and a.refund(s, unused, at)
end
