-- How a charge of a token bucket is taken back.

-- due returns the instant at which the usage beyond the capacity has drained (0: there is none). A promise that only the bands
-- delay moves it to exactly the promised instant, since the level is exact.
function bucket.due(s)
  local ends = 0
  for _, b in ipairs(s.bands) do
    if b.u > b.c then ends = math.max(ends, now + bucket_us(b, b.u - b.c, s.lag)) end
  end
  return ends
end

function bucket.latest(s, slot) return credit_latest(s, slot, bucket.due(s)) end

function bucket.give(s, cost)
  for _, b in ipairs(s.bands) do
    b.u = math.max(b.u - cost, 0)
    if b.u == 0 then b.r = 0 end
  end
end

function bucket.refund(s, cost, at)
  local since, found = credit_horizon(s, bucket.due(s), at) - at, false
  for _, b in ipairs(s.bands) do
    if b.l > 0 and b.u > 0 then
      local gone, rest = muldiv(since, b.l, b.p, 0)
      if gone < cost then
        found = true
        b.u, b.r = b.u - cost + gone, b.r - rest
        if b.r < 0 then b.u, b.r = b.u + 1, b.r + b.p end
        if b.u <= 0 then b.u, b.r = 0, 0 end
      end
    end
  end
  return found
end

-- outlives returns how long (us) any part of a refunded charge can count at most.
function bucket.outlives(s, cost, at)
  local us = 0
  for _, b in ipairs(s.bands) do
    if b.l > 0 then us = math.max(us, at - now + muldiv(cost, b.p, b.l, 0)) end
  end
  return us
end
