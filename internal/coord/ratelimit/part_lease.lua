-- lease charges a block ahead: the cost of a call and what else is free, at most block.most in all, which the sidecar serves
-- from memory. In the same step, before it decides, it takes back what is unused of an earlier block. pace is the result of
-- pace_read, nil (or false) if the key has no pace. It returns the script's outputs and whether it wrote.
local function lease(a, s, pace_key, pace, block)
  local back = lease_back(a, s, block.unused, block.at_us)
  pace = pace or {pause = 0, delay = 0, next = 0, ends = 0}
  local take = block.cost
  -- Under a delay each admission is charged by itself. If the state has a newer rule than the sidecar's, the sidecar cannot
  -- serve a block of it.
  if pace.delay == 0 and s.sig == block.signature then
    local spare = block.most
    for _, b in ipairs(s.bands) do spare = math.min(spare, (a.view(s, b))) end
    take = math.max(take, spare)
  end
  local out, wrote = admit(a, s, pace_key, {cost = take, peek = 0, wait_us = 0, signature = block.signature}, nil, pace)
  if back and not wrote then a.keep(s) end
  out.taken, out.returned = wrote and take or 0, back
  return out, wrote or back
end
