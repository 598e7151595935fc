-- What the token buckets share. The state is one hash: t (when, us), v (the
-- rule's revision), sig (its bands as text), and for each band u (used) and
-- r (the carry: p-ths of a token refilled beyond u, so the exact level is
-- u - r / p). What is used beyond the capacity is debt: slots that were promised.
-- since (us) is there with the first promise, and is when the promises began
-- that the debt is made of. A band here is a table c, l, p, u, r: l tokens per p us.

-- lifetime_ms of a state that is as if unused after us: 1 % and 1 s longer, so
-- that clocks which differ a little never forget a debt.
local function lifetime_ms(us)
  return math.ceil(us / 1000) + math.ceil(us / 100000) + 1000
end

-- bucket makes the fields of a state, in order, and what moves a band through
-- time. It is a function because making these takes a tenth of the lean script's
-- time, which it can nearly always save.
local function bucket()
  local fields = {'t', 'v', 'sig', 'u1', 'r1', 'u2', 'r2', 'u3', 'r3', 'u4', 'r4'}

  -- refill lets d microseconds pass. A limit of 0 never refills, so its capacity
  -- counts as 0 and nothing is ever stored for it.
  local function refill(b, d)
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

  -- wait_us is how long x tokens take to refill, rounded up, when that starts
  -- lag us from now; at most 2^53 - 1.
  local function wait_us(b, x, lag)
    local q, rest = muldiv(x, b.p, b.l, 0)
    return math.min(q + math.ceil((rest - b.r) / b.l) + lag, 9007199254740991)
  end

  return fields, refill, wait_us
end
