-- lane_end removes a delivered message from its lane for good, if it has one.
local function lane_end(lanes, parked, laned, id)
  local lane = redis.call('HGET', laned, id)
  if lane then lane_leave(lanes, parked, laned, lane, id) end
end

-- lane_back makes a delivered message wait in its lane again, until at (us) at least. It returns false if the message has no
-- lane.
local function lane_back(lanes, parked, laned, log, group, id, attempts, at)
  local lane = redis.call('HGET', laned, id)
  if not lane then return false end
  lane_leave(lanes, parked, laned, lane, id)
  redis.call('ZADD', parked, 0, lane_member(lane, id, attempts))
  redis.call('ZADD', lanes, at, lane)
  redis.call('XACK', log, group, id)
  return true
end
