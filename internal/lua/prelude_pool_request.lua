-- What an acquisition is given. A user uses pool and pool_view before it.

-- pool_request reads what every acquisition is given.
local function pool_request()
  local r = {
    token = ARGV[1], lease = tonumber(ARGV[2]) * 1000, session = ARGV[3], client = ARGV[4], instance = ARGV[5],
    waiter = ARGV[6], beat_ms = tonumber(ARGV[7]), inboxes = ARGV[8], exclude = {}, sticky_ms = tonumber(ARGV[10]),
  }
  for _, id in ipairs(pool_texts(ARGV[9], 1)) do r.exclude[id] = true end
  return r
end

-- pool_sticky is the member that this name had before, if it may be had.
local function pool_sticky(r)
  local id = r.sticky_ms > 0 and redis.call('GET', KEYS[15])
  if not id or r.exclude[id] then return nil end
  local c = view_judge(r, view_read(r, {id}), 1)
  return c and c.at == 0 and c or nil
end
