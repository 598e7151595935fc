-- Lanes of a group: messages that have a key in common are delivered in their order, one at a time, and each only when the
-- limit of its key admits it. lanes (sorted set, lane by when (us) its first message may be asked for, LANE_BUSY while one of
-- its messages is delivered); parked (sorted set by text, the messages that wait: the lane, a NUL, the id in digits that sort,
-- a colon and how often it was delivered); laned (hash, the lane of each message that is delivered, by id); leader (string,
-- the consumer that reads for all). A lane is escaped text, so that it has no NUL. A parked message is not pending: it has no
-- visibility timeout. A user uses clock and stream before it.
local LANE_BUSY = 9007199254740991

local function lane_member(lane, id, attempts)
  local ms, n = string.match(id, '^(%d+)-(%d+)$')
  return string.format('%s\0%016d-%016d:%d', lane, tonumber(ms), tonumber(n), attempts)
end

-- lane_first is the first message that waits in a lane: its id, how often it was delivered, and what it is in parked.
local function lane_first(parked, lane)
  local member = redis.call('ZRANGEBYLEX', parked, '[' .. lane .. '\0', '(' .. lane .. '\1', 'LIMIT', 0, 1)[1]
  if not member then return nil end
  local ms, n, attempts = string.match(member, '(%d+)-(%d+):(%d+)$')
  return string.format('%d-%d', tonumber(ms), tonumber(n)), tonumber(attempts), member
end

-- lane_open has the first message of a lane asked for at an instant (us), or forgets a lane that has none.
local function lane_open(lanes, parked, lane, at)
  if lane_first(parked, lane) then
    redis.call('ZADD', lanes, at, lane)
  else
    redis.call('ZREM', lanes, lane)
  end
end

-- lane_end ends the delivery of a message, and opens its lane for the next. It returns the lane, nil if the message has none.
local function lane_end(lanes, parked, laned, id)
  local lane = redis.call('HGET', laned, id)
  if not lane then return nil end
  redis.call('HDEL', laned, id)
  lane_open(lanes, parked, lane, now)
  return lane
end

-- lane_back parks a message again that is delivered, at its place: it is the first of its lane, which is open at an instant.
local function lane_back(lanes, parked, laned, log, group, lane, id, attempts, at)
  redis.call('HDEL', laned, id)
  redis.call('XACK', log, group, id)
  redis.call('ZADD', parked, 0, lane_member(lane, id, attempts))
  redis.call('ZADD', lanes, at, lane)
end
