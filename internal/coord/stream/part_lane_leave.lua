-- lane_leave removes a message from its lane for good, and makes the lane due at once if it has another message.
local function lane_leave(lanes, parked, laned, lane, id)
  -- ';' follows ':' in the order of bytes, so that the range has the message's member whatever its number of deliveries is.
  local id_part = string.sub(lane_member(lane, id, 0), 1, -3)
  for _, member in ipairs(redis.call('ZRANGEBYLEX', parked, table.concat({'[', id_part, ':'}), table.concat({'(', id_part, ';'}))) do
    redis.call('ZREM', parked, member)
  end
  redis.call('HDEL', laned, id)
  if lane_first(parked, lane) then redis.call('ZADD', lanes, now, lane) else redis.call('ZREM', lanes, lane) end
end
