-- lane_end ends the delivery of a message for good, if it has a lane.
local function lane_end(lanes, parked, laned, id)
  local lane = redis.call('HGET', laned, id)
  if lane then lane_leave(lanes, parked, laned, lane, id) end
end

-- lane_back has a message that is delivered wait in its lane again, until an instant (us) at least. It is false for one that
-- has no lane.
local function lane_back(lanes, parked, laned, log, group, id, attempts, at)
  local lane = redis.call('HGET', laned, id)
  if not lane then return false end
  lane_leave(lanes, parked, laned, lane, id)
  redis.call('ZADD', parked, 0, lane_member(lane, id, attempts))
  redis.call('ZADD', lanes, at, lane)
  redis.call('XACK', log, group, id)
  return true
end
