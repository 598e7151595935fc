-- lane_leave takes a message out of its lane for good; the next one of the lane is looked at at once.
local function lane_leave(lanes, parked, laned, lane, id)
  local from = lane_member(lane, id, 0)
  for _, member in ipairs(redis.call('ZRANGEBYLEX', parked, '[' .. string.sub(from, 1, -2), '(' .. string.sub(from, 1, -3) .. ';')) do
    redis.call('ZREM', parked, member)
  end
  redis.call('HDEL', laned, id)
  if lane_first(parked, lane) then redis.call('ZADD', lanes, now, lane) else redis.call('ZREM', lanes, lane) end
end
