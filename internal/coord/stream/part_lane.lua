-- Lanes of a group that delivers by key: messages with the same key are delivered one at a time, in their order, and each only
-- when the limit of its key admits it. A lane is named by its key, which has no zero bytes. Such a group has three more keys:
--   lanes: sorted set of lanes by the time (us) at which to look at their first message.
--   parked: sorted set by text of the messages in lanes. A member is the lane, a zero byte, the id with its numbers padded so
--     that ids sort as text, a colon and the number of deliveries.
--   laned: hash of the lanes of messages that are delivered, by id. The field '' has the name of the field of messages that has
--     their key.
-- A message stays parked until its delivery has ended for good, so that it stays the first of its lane. While it waits in its
-- lane it is not pending, and has no visibility timeout. Needs clock and stream.

-- How long (us) after the delivery of its first message a lane is looked at again, in case a client that is not a sidecar
-- acknowledged the message.
local LANE_LOOK = 30000000

local function lane_member(lane, id, attempts)
  local ms, n = string.match(id, '^(%d+)-(%d+)$')
  return table.concat({lane, '\0', string.rep('0', 20 - #ms), ms, '-', string.rep('0', 20 - #n), n, ':', string.format('%d', attempts)})
end

-- lane_first returns the first message of a lane: its id, how often it was delivered, and its member of parked.
local function lane_first(parked, lane)
  local member = redis.call('ZRANGEBYLEX', parked, table.concat({'[', lane, '\0'}), table.concat({'(', lane, '\1'}), 'LIMIT', 0, 1)[1]
  if not member then return nil end
  local ms, n, attempts = string.match(member, '0*(%d+)-0*(%d+):(%d+)$', #lane + 2)
  return table.concat({ms, '-', n}), tonumber(attempts), member
end
