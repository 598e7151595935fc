-- unpacked returns the texts of a list, each of which comes after its length and a colon. The list begins at the position at
-- in text, by default at its start.
local function unpacked(text, at)
  local list = {}
  at = at or 1
  while at <= #text do
    local colon = string.find(text, ':', at, true)
    local n = tonumber(string.sub(text, at, colon - 1))
    list[#list + 1], at = string.sub(text, colon + 1, colon + n), colon + n + 1
  end
  return list
end
