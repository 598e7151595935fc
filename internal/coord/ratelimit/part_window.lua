-- The fixed window. Windows begin at whole multiples of the period. A band has c, ms, u and r: it admits c in each ms
-- milliseconds. r is the begin (us) of the last window that was charged, u is what counts in it; the state (see lib/state.lua)
-- has both. A charge goes to that window or to a later one, so that no call overtakes one that has a slot in a coming window;
-- what is free in earlier windows lapses.
local window = {}

-- window_start returns when the window begins that contains at.
local function window_start(b, at)
  return math.floor(at / (b.ms * 1000)) * b.ms * 1000
end

-- If the last window that old charged is not a coming one, what counts in it counts in new's present window if the two overlap,
-- as far as both can hold it; what was promised beyond old's capacity counts in full. If it is a coming one, what counts in it
-- counts in the window of new that contains its begin; each earlier window of old, from the present one on, that overlaps that
-- window of new counts as full.
function window.inherit(new, old, t)
  local at, p = math.max(t, now), old.ms * 1000
  local present = window_start(old, at)
  if old.r > at then
    new.r, new.u = window_start(new, old.r), old.u
    if new.ms ~= old.ms then
      new.u = new.u + old.c * math.ceil(math.max(old.r - math.max(new.r, present), 0) / p)
    end
  elseif old.r + p > window_start(new, at) then
    new.r = window_start(new, at)
    new.u = math.min(old.u, old.c, new.c) + math.max(old.u - old.c, 0)
  end
end

-- If the clock stepped back, the present window stays that of t.
function window.open(s)
  s.at = math.max(s.t, now)
  for _, b in ipairs(s.bands) do
    local start = window_start(b, s.at)
    if b.r < start then b.r, b.u = start, 0 end
  end
  return s
end

function window.wait(s, b, cost)
  if cost > b.c then return -1 end
  local start = b.u + cost > b.c and b.r + b.ms * 1000 or b.r
  return start > s.at and start - now or 0
end

-- If the last charged window is a coming one, the present one counts as full, so that no call overtakes those that wait.
function window.view(s, b)
  local ahead = b.r > s.at
  local used, reset = b.u + (ahead and b.c or 0), 0
  if b.u > 0 then
    reset = b.r + b.ms * 1000 - now
  elseif ahead then
    reset = b.r - now
  end
  return b.c - used, used, reset
end

function window.keep(s)
  local full = 0
  for _, b in ipairs(s.bands) do full = math.max(full, b.r + 2000 * b.ms - now) end
  state_keep(s, full)
end

function window.take(s, cost, ahead)
  for _, b in ipairs(s.bands) do
    local start = window_start(b, now + ahead)
    if start > b.r then b.r, b.u = start, 0 end
    b.u = b.u + cost
  end
  window.keep(s)
end
