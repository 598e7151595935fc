-- Chooses the member of a view that an acquisition r gets; r.excluded has the members that it excludes. A script uses pool_view before
-- this part.

-- view_move updates the keys of a view: away is a ZADD of members to away, gone a ZREM of members from idle, and place a candidate with
-- a new score in idle, or nil.
local function view_move(view, away, gone, place)
  if #away > 2 then redis.call(unpack(away)) end
  if #gone > 2 then redis.call(unpack(gone)) end
  if place then redis.call('ZADD', view.idle, place.score, place.id) end
end

-- view_pick returns the least recently used member that is possible and not excluded, or nil. It moves members before it that are not
-- possible to away. A run looks at no more than LOOKED members that are not excluded; the second value is true if more are left.
local function view_pick(pool, view, r)
  local skip, left, page = 0, LOOKED, 4
  while left > 0 do
    local list, ids = redis.call('ZRANGE', view.idle, skip, skip + math.min(page, left) - 1, 'WITHSCORES'), {}
    if #list == 0 then return nil, false end
    for i = 1, #list, 2 do ids[#ids + 1] = list[i] end
    local rows, away, gone, found, place = view_read(pool, view, ids, r), {'ZADD', view.away}, {'ZREM', view.idle}, nil, nil
    for i, id in ipairs(ids) do
      if r.excluded[id] then
        skip = skip + 1
      else
        left = left - 1
        local c = view_judge(rows, i, r)
        if c and c.score ~= tonumber(list[2 * i]) then
          -- Another view used the member in this scope meanwhile: the order must be read again.
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
          redis.call('HDEL', view.used, id)
        end
      end
    end
    view_move(view, away, gone, place)
    if found then return found, false end
    -- Excluded members that were skipped may be behind the moved one now.
    if place then skip = 0 end
    page = math.min(page * 4, 64)
  end
  return nil, redis.call('ZCARD', view.idle) > skip
end

-- view_soonest returns when (us) the soonest member in away is possible, and why not before; NEVER and 'empty' if there is none.
-- Members that turn out to be possible only later get their new time in away. It returns 0 if another run must follow.
local function view_soonest(pool, view, r)
  local list, best, why = redis.call('ZRANGE', view.away, 0, LOOKED - 1, 'WITHSCORES'), NEVER, 'empty'
  for i = 1, #list, 2 do
    local id, score = list[i], tonumber(list[i + 1])
    if why ~= 'empty' and score >= best then return best, why end
    if not r.excluded[id] then
      local c = view_judge(view_read(pool, view, {id}, r), 1, r)
      if not c then
        redis.call('ZREM', view.away, id)
      elseif c.at == 0 then
        view_idle(pool, view, {id})
        return 0, ''
      else
        if c.at ~= score then redis.call('ZADD', view.away, c.at, id) end
        if why == 'empty' or c.at < best then best, why = c.at, c.why end
      end
    end
  end
  -- All of these were later than away had them: a member behind them may be sooner.
  if #list == 2 * LOOKED then return 0, '' end
  return best, why
end
