-- The fixed window. Windows begin at whole multiples of the period. Of each band the state (see lib/state.lua) has
-- r, when (us) the last window begins that was charged, and u, what counts in it. A charge goes to that window or to a
-- later one, so that nobody passes whom a window to come was promised; what is free in those before it lapses. A band is
-- c, ms, u, r: c in each ms milliseconds.
local window = {}

-- window_start returns when the window begins that contains at.
local function window_start(b, at)
  return math.floor(at / (b.ms * 1000)) * b.ms * 1000
end

-- What counts in old's window counts in new's if the two overlap, as far as both could hold it, and what was promised
-- beyond that whole. What was promised for windows to come stays there: as many as old could hold in each, and in the
-- last one what counts there.
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

-- A clock that stepped back is in no earlier window than before.
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

-- If the last charged window is yet to come, the present one counts as full, so that no call passes those that wait.
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
