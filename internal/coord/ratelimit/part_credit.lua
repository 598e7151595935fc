-- What is taken back of a charge, so that no more is let through than if it had never been. A slot that is given back
-- is credited if it is the last one that was promised: what would be let through for an inner one came together with
-- the later ones. A grant that is refunded has drained, if nothing else was there, ever since; and what is left of it
-- is free only after all that was promised, which relied on nothing being free before. So just that part is credited
-- which would be left then.

-- credit_latest says whether a slot is the last one that was promised, of a state whose debt ends at due.
local function credit_latest(s, slot, due)
  if due > slot then return false end
  return slot == s.last or slot == due and slot > s.last
end

-- credit_horizon is when all that was promised has come; a clock that stepped back drains nothing until it is at t again. It is
-- never before at, of a grant that is older than the state, or was asked back before its slot.
local function credit_horizon(s, due, at)
  return math.max(now, s.t, s.last, due, at)
end
