-- What the stream scripts share. The keys of a stream:
--   log: stream of its messages; m is the message as sidecars encode it, g the only group that it is for, if there is one.
--   dead: stream of the dead letters; m is the message, the others are its id, group, attempts and reason.
--   groups: hash of the last message that was delivered to each group, by group. The field '' counts messages that were deleted
--     before they were acknowledged.
-- The key of a group:
--   retry: sorted set of ids of pending messages by the time (us) at which to deliver them again.
-- Keys of a stream have no TTL unless a script's header names one: messages stay until they are trimmed.

-- group_find returns the fields of a group as XINFO GROUPS replies with them; nil if there is no such stream or group.
local function group_find(log, group)
  if redis.call('EXISTS', log) == 0 then return nil end
  for _, flat in ipairs(redis.call('XINFO', 'GROUPS', log)) do
    local g = {}
    for i = 1, #flat, 2 do g[flat[i]] = flat[i + 1] end
    if g.name == group then return g end
  end
  return nil
end

-- pending_find returns the consumer that holds a pending message, and how often it was delivered; nil if it is not pending.
local function pending_find(log, group, id)
  local p = redis.call('XPENDING', log, group, id, id, 1)[1]
  if not p then return nil end
  return p[2], tonumber(p[4])
end

-- message_find returns the fields of a message; nil if it was deleted. An entry that no sidecar added may have no field m,
-- which is '' then.
local function message_find(log, id)
  local found = redis.call('XRANGE', log, id, id)[1]
  if not found then return nil end
  local m = {m = ''}
  for i = 1, #found[2], 2 do m[found[2][i]] = found[2][i + 1] end
  return m
end

-- message_bury moves a pending message to the dead letters.
local function message_bury(log, dead, group, id, m, attempts, reason)
  redis.call('XADD', dead, '*', 'm', m.m, 'id', id, 'group', group, 'attempts', attempts, 'reason', reason)
  redis.call('XACK', log, group, id)
end

-- message_trimmed acknowledges and counts a pending message that was deleted from the log.
local function message_trimmed(log, groups, group, id)
  redis.call('XACK', log, group, id)
  redis.call('HINCRBY', groups, '', 1)
end
