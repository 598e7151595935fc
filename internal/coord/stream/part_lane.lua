-- Lanes of a group that delivers by key: messages whose key is the same go one at a time, in their order, and each only when
-- the limit of its key admits it. Of such a group, beside retry: lanes (sorted set, lane by when (us) to look at its first
-- message); parked (sorted set by text, the messages of lanes: the lane, a zero byte, the id in digits that sort, a colon and
-- how often it was delivered); laned (hash, the lane of each message that is delivered, by id; the field '' names the field
-- of messages that is their key). A lane is a key, without zero bytes. A message is parked until its delivery has ended for
-- good, so that it stays the first of its lane; while it waits it is not pending, and has no visibility timeout. clock and
-- stream are used before it.

-- A lane whose first message is delivered is looked at again so often (us), since it may have been acknowledged by others.
local LANE_LOOK = 30000000

local function lane_member(lane, id, attempts)
  local ms, n = string.match(id, '^(%d+)-(%d+)$')
  return table.concat({lane, '\0', string.rep('0', 20 - #ms), ms, '-', string.rep('0', 20 - #n), n, ':', string.format('%d', attempts)})
end

-- lane_first is the first message of a lane: its id, how often it was delivered, and what it is in parked.
local function lane_first(parked, lane)
  local member = redis.call('ZRANGEBYLEX', parked, table.concat({'[', lane, '\0'}), table.concat({'(', lane, '\1'}), 'LIMIT', 0, 1)[1]
  if not member then return nil end
  local ms, n, attempts = string.match(member, '0*(%d+)-0*(%d+):(%d+)$', #lane + 2)
  return table.concat({ms, '-', n}), tonumber(attempts), member
end
