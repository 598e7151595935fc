-- lane_leave takes a message out of its lane for good; the next one of the lane is looked at at once.
local function lane_leave(lanes, parked, laned, lane, id)
  -- Up to the colon, and up to what follows a colon: whatever its attempts are.
  local id_part = string.sub(lane_member(lane, id, 0), 1, -3)
  for _, member in ipairs(redis.call('ZRANGEBYLEX', parked, table.concat({'[', id_part, ':'}), table.concat({'(', id_part, ';'}))) do
    redis.call('ZREM', parked, member)
  end
  redis.call('HDEL', laned, id)
  if lane_first(parked, lane) then redis.call('ZADD', lanes, now, lane) else redis.call('ZREM', lanes, lane) end
end
