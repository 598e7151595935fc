-- The leaky bucket as GCRA. A band has c, l, p, u and r. It admits one token each p / l us, and c at once. u (whole us) is the
-- theoretical arrival time, the instant at which the band is as if unused; r is its fraction, in l-ths of a microsecond. A cost
-- moves u on by cost * p / l, and fits if u is then at most c * p / l after now. The state (see lib/state.lua) has u and r.
local leaky = {}

-- The usage of old counts in new as far as both can hold it, in whole tokens; what was promised beyond old's capacity counts in
-- full. A fraction of a token counts only if both have the same rate.
function leaky.inherit(new, old, t)
  gcra_fit(new)
  gcra_fit(old)
  if old.l == 0 or new.l == 0 or old.u < t then return end
  local used, rest = gcra_level(old, old.u - t, old.r)
  local spare = 0
  if rest > 0 then used, spare = used + 1, old.p - rest end
  used = math.min(math.min(used, old.c, new.c) + math.max(used - old.c, 0), gcra_most(new))
  new.u, new.r = gcra_span(new, used)
  new.u = new.u + t
  if new.l == old.l and new.p == old.p and used > 0 then gcra_move(new, -math.floor(spare / new.l), -(spare % new.l)) end
end

-- If the clock stepped back, nothing drains until it reaches t again.
function leaky.open(s)
  s.at = math.max(s.t, now)
  for _, b in ipairs(s.bands) do
    gcra_fit(b)
    if b.u < s.at or b.l == 0 then b.u, b.r = s.at, 0 end
  end
  return s
end

function leaky.wait(s, b, cost)
  if cost > b.c then return -1 end
  local at = b.l > 0 and gcra_later_than(b, b.c - cost) or 0
  return at > s.at and at - now or 0
end

function leaky.view(s, b)
  if b.u == s.at and b.r == 0 then return b.c, 0, 0 end
  local used, rest = gcra_level(b, b.u - s.at, b.r)
  if rest > 0 then used = used + 1 end
  return b.c - used, used, b.u - now + (b.r > 0 and 1 or 0)
end

function leaky.keep(s)
  local full = 0
  for _, b in ipairs(s.bands) do full = math.max(full, b.u - now + (b.r > 0 and 1 or 0)) end
  state_keep(s, full)
end

function leaky.take(s, cost, ahead)
  local own = 0
  for _, b in ipairs(s.bands) do
    if ahead > 0 then
      own = math.max(own, leaky.wait(s, b, cost))
      if b.u < now + ahead then b.u, b.r = now + ahead, 0 end
    end
    local us, r = muldiv(cost, b.p, b.l, b.r)
    b.u, b.r = b.u + us, r
  end
  state_ahead(s, ahead, own)
  leaky.keep(s)
end
