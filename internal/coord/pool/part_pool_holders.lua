-- The holders of members of a pool. A script uses pool before this part.

-- pool_holders returns the holders of those members of held, each with id, ends (us) and text, whose leases end first; most at
-- most.
local function pool_holders(held, most)
  if most == 0 then return {} end
  table.sort(held, function(a, b) return a.ends < b.ends or a.ends == b.ends and a.id < b.id end)
  local holders = {}
  for i = 1, math.min(#held, most) do
    local m = pool_read(held[i].text)
    holders[i] = {
      id = held[i].id, left_us = held[i].ends - now, client = m.client, instance = m.instance, since_ms = math.floor(m.since / 1000),
    }
  end
  return holders
end
