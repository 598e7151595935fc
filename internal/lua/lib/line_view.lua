-- Lists a waiting line (see lib/line.lua). A script that uses this part names clock and line before it.

-- line_view returns the number of waiters, and a row for each sidecar that has waiters, in the order of their first ones: its
-- id, the number of its waiters (waiting) and how long it still counts as alive (left_us, 0 = it does not). It reads the first
-- 1,000 waiters, and returns 20 rows at most.
local function line_view(line, heartbeats)
  local rows, of = {}, {}
  for _, waiter in ipairs(redis.call('ZRANGE', line, 0, 999)) do
    local id = sidecar_of(waiter)
    if not of[id] then
      of[id] = {sidecar = id, waiting = 0, left_us = math.max(tonumber(redis.call('ZSCORE', heartbeats, id) or 0) - now, 0)}
      if #rows < 20 then rows[#rows + 1] = of[id] end
    end
    of[id].waiting = of[id].waiting + 1
  end
  return redis.call('ZCARD', line), rows
end
