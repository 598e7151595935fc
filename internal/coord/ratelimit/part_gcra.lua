-- How tokens and time are converted into each other: l tokens each p us. See part_leaky.lua for a band b.

-- gcra_span returns how long n tokens last: whole us, and l-ths of one.
local function gcra_span(b, n)
  return muldiv(n, b.p, b.l, 0)
end

-- gcra_level returns how many tokens us and r l-ths of a microsecond are: whole ones, and p-ths of one.
local function gcra_level(b, us, r)
  local q, rest = muldiv(us, b.l, b.p, r % b.p)
  return q + math.floor(r / b.p), rest
end

-- gcra_most returns how many tokens last 2^52 us (142 years). No more fit at once, so that no time exceeds 2^53.
local function gcra_most(b)
  return (gcra_level(b, 4503599627370496, 0))
end

-- gcra_fit bounds a band. A limit of 0 never drains, so that nothing fits.
local function gcra_fit(b)
  b.c = b.l > 0 and math.min(b.c, gcra_most(b)) or 0
end

-- gcra_later_than returns the instant (us, rounded up) from which u is at most n tokens away.
local function gcra_later_than(b, n)
  local q, r = gcra_span(b, n)
  return b.u - q + (b.r > r and 1 or 0)
end

local function gcra_move(b, us, r)
  b.u, b.r = b.u + us, b.r + r
  if b.r < 0 then b.u, b.r = b.u - 1, b.r + b.l end
end
