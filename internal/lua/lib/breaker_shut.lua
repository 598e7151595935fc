-- Reads only the state of a breaker's record (see lib/breaker.lua).

-- breaker_shut reports whether a record is open, even if its open time is over, or forced open.
local function breaker_shut(text)
  local state, forced = string.match(text, '^(%d+) (%d+) ')
  return forced == '1' or forced == '0' and state == '1'
end
