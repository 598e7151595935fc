-- lifetime_ms of a state that is as if unused after us: 1 % and 1 s longer, so that clocks which differ a little never
-- forget a debt.
local function lifetime_ms(us)
  return math.ceil(us / 1000) + math.ceil(us / 100000) + 1000
end
