-- lifetime_ms returns the TTL of a state that is as if unused after us: 1 % and 1 s longer, so that a debt is not lost if
-- clocks differ a little.
local function lifetime_ms(us)
  return math.ceil(us / 1000) + math.ceil(us / 100000) + 1000
end
