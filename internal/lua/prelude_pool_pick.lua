-- Which member of a view is had. A user uses pool_view before it.

-- view_move applies what was found of members: they go away, are gone, or have another place among the idle.
local function view_move(away, gone, place)
  if #away > 2 then redis.call(unpack(away)) end
  if #gone > 2 then redis.call(unpack(gone)) end
  if place then redis.call('ZADD', IDLE, place.score, place.id) end
end

-- view_pick is the least recently used member that is possible and not excluded, or nil. Of those before it each goes away
-- until it is next possible, at most so many in one run: then there are more, and true is returned besides.
local function view_pick(r)
  local skip, left, page = 0, LOOKED, 4
  while left > 0 do
    local list, ids = redis.call('ZRANGE', IDLE, skip, skip + math.min(page, left) - 1, 'WITHSCORES'), {}
    if #list == 0 then return nil, false end
    for i = 1, #list, 2 do ids[#ids + 1] = list[i] end
    local rows, away, gone, found, place = view_read(r, ids), {'ZADD', AWAY}, {'ZREM', IDLE}, nil, nil
    for i, id in ipairs(ids) do
      if r.exclude[id] then
        skip = skip + 1
      else
        left = left - 1
        local c = view_judge(r, rows, i)
        if c and c.score ~= tonumber(list[2 * i]) then
          -- Another view used it in this scope meanwhile: the order is to be read again.
          place = c
          break
        elseif c and c.at == 0 then
          found = c
          break
        end
        gone[#gone + 1] = id
        if c then
          away[#away + 1], away[#away + 2] = c.at, id
        else
          redis.call('HDEL', USED, id)
        end
      end
    end
    view_move(away, gone, place)
    if found then return found, false end
    -- Those that were passed over may be behind it now.
    if place then skip = 0 end
    page = math.min(page * 4, 64)
  end
  return nil, redis.call('ZCARD', IDLE) > skip
end

-- view_soonest is when (us) the soonest member that is away is possible, and why not before; NEVER and empty when there is
-- none. Those that turn out to be possible later move behind. It returns 0 when it takes another run.
local function view_soonest(r)
  local list, best, why = redis.call('ZRANGE', AWAY, 0, LOOKED - 1, 'WITHSCORES'), NEVER, 'empty'
  for i = 1, #list, 2 do
    local id, score = list[i], tonumber(list[i + 1])
    if why ~= 'empty' and score >= best then return best, why end
    if not r.exclude[id] then
      local c = view_judge(r, view_read(r, {id}), 1)
      if not c then
        redis.call('ZREM', AWAY, id)
      elseif c.at == 0 then
        view_idle({id})
        return 0, ''
      else
        if c.at ~= score then redis.call('ZADD', AWAY, c.at, id) end
        if why == 'empty' or c.at < best then best, why = c.at, c.why end
      end
    end
  end
  -- All were later than they were thought to be: one behind them may be sooner.
  if #list == 2 * LOOKED then return 0, '' end
  return best, why
end
