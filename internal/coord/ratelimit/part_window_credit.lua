-- How a charge of fixed windows is taken back: only in the last window that was charged, since the counts of earlier ones are
-- not kept. Within that window it does not matter which of the charges is taken back.

local function window_counts(b, at)
  return window_start(b, at) == b.r and b.u > 0
end

function window.latest(s, slot)
  for _, b in ipairs(s.bands) do
    if not window_counts(b, slot) then return false end
  end
  return true
end

function window.give(s, cost)
  for _, b in ipairs(s.bands) do b.u = math.max(b.u - cost, 0) end
end

function window.refund(s, cost, at)
  local found = false
  for _, b in ipairs(s.bands) do
    if window_counts(b, at) then
      b.u, found = math.max(b.u - cost, 0), true
    end
  end
  return found
end

function window.outlives(s)
  local us = 0
  for _, b in ipairs(s.bands) do us = math.max(us, b.r + b.ms * 1000 - now) end
  return us
end
