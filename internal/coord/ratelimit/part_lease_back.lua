-- lease_back takes back the unused tokens of a block that was charged to a state s at an instant (us), and returns whether it
-- changed anything. It changes nothing if the state began after that instant, by a reset or with other bands, since such a state
-- does not count the block.
--
-- After the return at least as much must count as used as if the unused part had never been charged; otherwise more would be let
-- through than the limit. Without the block the bucket might have been full in the meantime: then all that refilled since the
-- charge only replaced what the block took, and would have been lost without the block. So the amount that refilled since the
-- charge is never credited (bucket.refund). This is right however late a block is returned: while other blocks are out, the used
-- amount is never less than the sum of their possible credits, since any refill takes at least its own amount from that sum. A
-- fixed window does not refill, and credits the whole unused part, but only in the window of the charge (window.refund).
local function lease_back(a, s, unused, at)
  return unused > 0 and not s.begins and s.from <= at and a.refund(s, unused, at)
end
