-- How much of a charge is taken back, so that no more is let through than if it had never been made. A slot that is given back
-- is credited only if it is the last one that was promised: a call that is admitted in place of an earlier one would come
-- together with the later ones. A refunded grant counts as having drained ever since its instant, as if nothing else counted. The
-- promised slots were computed with this grant in the bucket. So the refund must free nothing before the last of them: it credits
-- only the part of the grant that would not have drained by then.

-- credit_latest returns whether a slot is the last one that was promised, in a state whose usage beyond the capacity drains
-- until due.
local function credit_latest(s, slot, due)
  if due > slot then return false end
  return slot == s.last or slot == due and slot > s.last
end

-- credit_horizon returns when all promised slots have come. If the clock stepped back, nothing drains until it reaches t again.
-- The result is never before at, since a grant may be older than the state, or be refunded before its slot.
local function credit_horizon(s, due, at)
  return math.max(now, s.t, s.last, due, at)
end
