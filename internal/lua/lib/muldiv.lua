-- muldiv returns floor((a * b + r) / m) and the remainder, exact although a * b may
-- pass the 2^53 that a Lua number holds: long multiplication over the base-128
-- digits of b, reduced by m at each digit. For integers a < 2^53, b and m
-- below 2^45 (more than 366 days of microseconds) and r < m no step passes
-- 2^53. A quotient beyond 2^53 is rounded.
local function muldiv(a, b, m, r)
  local x = a * b + r
  if x < 9007199254740992 then
    local q = math.floor(x / m)
    return q, x - q * m
  end
  local whole = math.floor(a / m)
  a = a - whole * m
  local q, rest, place = 0, 0, 1
  while place * 128 <= b do place = place * 128 end
  while place >= 1 do
    x = rest * 128 + a * (math.floor(b / place) % 128)
    local k = math.floor(x / m)
    q, rest = q * 128 + k, x - k * m
    place = place / 128
  end
  rest = rest + r
  if rest >= m then q, rest = q + 1, rest - m end
  return whole * b + q, rest
end
