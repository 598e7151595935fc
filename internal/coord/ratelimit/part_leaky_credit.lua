-- How what was charged to a leaky bucket is taken back: see part_bucket_credit.lua.

function leaky.due(s)
  local ends = 0
  for _, b in ipairs(s.bands) do
    if b.l > 0 then ends = math.max(ends, gcra_later_than(b, b.c)) end
  end
  return ends > s.at and ends or 0
end

function leaky.latest(s, slot) return credit_latest(s, slot, leaky.due(s)) end

function leaky.give(s, cost)
  for _, b in ipairs(s.bands) do
    local us, r = gcra_span(b, cost)
    gcra_move(b, -us, -r)
  end
end

function leaky.refund(s, cost, at)
  local since, found = credit_horizon(s, leaky.due(s), at) - at, false
  for _, b in ipairs(s.bands) do
    if b.l > 0 and (b.u > s.at or b.r > 0) then
      local us, r = gcra_span(b, cost)
      if us > since or us == since and r > 0 then
        found = true
        gcra_move(b, since - us, -r)
        if b.u < s.at then b.u, b.r = s.at, 0 end
      end
    end
  end
  return found
end

function leaky.outlives(s, cost, at)
  local us = 0
  for _, b in ipairs(s.bands) do
    if b.l > 0 then us = math.max(us, at - now + gcra_span(b, cost)) end
  end
  return us
end
