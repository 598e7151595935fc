-- What is taken back of a charge, so that no more is let through than if it had never been. A slot that is given back
-- is credited if it is the last one that was promised: what would be let through for an inner one came together with
-- the later ones. A grant that is refunded has drained, if nothing else was there, ever since; and what is left of it
-- is free only after all that was promised, which relied on nothing being free before. So just that part is credited
-- which would be left then.

-- credit_latest returns whether a slot is the last one that was promised, in a state whose usage beyond the capacity drains
-- until due.
local function credit_latest(s, slot, due)
  if due > slot then return false end
  return slot == s.last or slot == due and slot > s.last
end

-- credit_horizon returns when all promised slots have come. A clock that stepped back drains nothing until it reaches t again.
-- The result is never before at, since a grant may be older than the state, or be refunded before its slot.
local function credit_horizon(s, due, at)
  return math.max(now, s.t, s.last, due, at)
end
