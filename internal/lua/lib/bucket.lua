-- The token bucket. Of each band the state (see lib/state.lua) has u (used) and r (the carry: p-ths of a token
-- refilled beyond u, so the exact level is u - r / p). What is used beyond the capacity is debt: slots that were
-- promised. A band is c, l, p, u, r: l tokens per p us, c at once.
local bucket = {}

-- bucket_refill lets d microseconds pass. A limit of 0 never refills, so its capacity counts as 0 and nothing is ever stored
-- for it.
local function bucket_refill(b, d)
  if b.l == 0 then
    b.c, b.u, b.r = 0, 0, 0
  elseif d * b.l >= (b.u + 1) * b.p * 1.000001 then
    -- Far beyond empty, where rounding cannot matter and muldiv would round.
    b.u, b.r = 0, 0
  else
    local g, r = muldiv(d, b.l, b.p, b.r)
    b.u, b.r = b.u - g, r
    if b.u <= 0 then b.u, b.r = 0, 0 end
  end
end

-- bucket_us returns how long x tokens take to refill, rounded up, if the refill starts lag us from now; at most 2^53 - 1.
local function bucket_us(b, x, lag)
  local q, rest = muldiv(x, b.p, b.l, 0)
  return math.min(q + math.ceil((rest - b.r) / b.l) + lag, 9007199254740991)
end

-- bucket_owe prepares a band for a charge at a slot that is us away. If the band's use would have drained before the slot, it
-- raises the use to what drains until then, so that the charge counts from the slot on and not before. Any other band has the
-- same use at the slot as without the wait.
local function bucket_owe(b, us)
  if muldiv(us, b.l, b.p, b.r) < b.u then return end
  local q, rest = muldiv(us, b.l, b.p, 0)
  b.u, b.r = q, 0
  if rest > 0 then b.u, b.r = q + 1, b.p - rest end
end

-- Of the use of old, new inherits as much as the capacities of both allow, and all debt beyond old's capacity. The carry is
-- inherited only if l and p are the same, since they are its unit.
function bucket.inherit(new, old)
  new.u = math.min(old.u, old.c, new.c) + math.max(old.u - old.c, 0)
  if new.l == old.l and new.p == old.p and new.u > 0 then new.r = old.r end
end

-- After the clock has stepped back, nothing refills until it reaches t again.
function bucket.open(s)
  s.lag = math.max(s.t - now, 0)
  for _, b in ipairs(s.bands) do bucket_refill(b, math.max(now - s.t, 0)) end
  return s
end

function bucket.wait(s, b, cost)
  if cost > b.c then return -1 end
  return b.u + cost > b.c and bucket_us(b, b.u + cost - b.c, s.lag) or 0
end

function bucket.view(s, b)
  return b.c - b.u, b.u, b.u > 0 and bucket_us(b, b.u, s.lag) or 0
end

function bucket.keep(s)
  local full = 0
  for _, b in ipairs(s.bands) do
    if b.u > 0 then full = math.max(full, bucket_us(b, b.u, s.lag)) end
  end
  state_keep(s, full)
end

function bucket.take(s, cost, ahead)
  local own = 0
  for _, b in ipairs(s.bands) do
    if ahead > 0 then
      own = math.max(own, bucket.wait(s, b, cost))
      bucket_owe(b, ahead - s.lag)
    end
    b.u = b.u + cost
  end
  state_ahead(s, ahead, own)
  bucket.keep(s)
end
