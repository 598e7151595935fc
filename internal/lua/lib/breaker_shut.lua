-- A look at a breaker's record (see lib/breaker.lua) that reads no more of it than it needs.

-- breaker_shut reads of a record whether it is open, for however long, or forced open.
local function breaker_shut(text)
  local state, forced = string.match(text, '^(%d+) (%d+) ')
  return forced == '1' or forced == '0' and state == '1'
end
