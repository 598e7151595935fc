-- lease charges a limit ahead: the cost of a call and, of what is free beside it, so much that at most block.most are
-- taken, for the caller to serve from memory. It takes back what is unused of an earlier block in the same step, before
-- it decides. g is the gate, nil if there is nothing at it. It returns the script's outputs and whether it wrote.
local function lease(a, s, gate_key, g, block)
  local back = lease_back(a, s, block.unused, block.at_us)
  g = g or {pause = 0, delay = 0, next = 0, ends = 0}
  local take = block.cost
  -- Under a delay every admission is one for itself; by a rule that the caller does not know it can serve nothing.
  if g.delay == 0 and s.sig == block.signature then
    local spare = block.most
    for _, b in ipairs(s.bands) do spare = math.min(spare, (a.view(s, b))) end
    take = math.max(take, spare)
  end
  local out, wrote = admit(a, s, gate_key, {cost = take, peek = 0, wait_us = 0, signature = block.signature}, nil, g)
  if back and not wrote then a.keep(s) end
  out.taken, out.returned = wrote and take or 0, back
  return out, wrote or back
end
