-- What the stream scripts share. The keys of a stream: log (stream, its messages: m is the message as the sidecars encode
-- it, g the only group that it is for); dead (stream, the dead letters: m, id of the message, group, attempts, reason);
-- groups (hash: the last message delivered to a group, by group; the field '' counts messages that were deleted before
-- they were acknowledged). Of a group: retry (sorted set, id of a pending message by when (us) it is delivered again).
-- No key of a stream has a TTL but those that say so: messages stay until they are trimmed.

-- group_find returns a group as XINFO tells it, by field; nil if there is no such stream or group.
local function group_find(log, group)
  if redis.call('EXISTS', log) == 0 then return nil end
  for _, flat in ipairs(redis.call('XINFO', 'GROUPS', log)) do
    local g = {}
    for i = 1, #flat, 2 do g[flat[i]] = flat[i + 1] end
    if g.name == group then return g end
  end
  return nil
end

-- pending_find returns the consumer that a message was delivered to, and how often it was delivered.
local function pending_find(log, group, id)
  local p = redis.call('XPENDING', log, group, id, id, 1)[1]
  if not p then return nil end
  return p[2], tonumber(p[4])
end

-- message_find returns the fields of a message; nil if it was deleted. What others added to the stream may lack m.
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

-- message_trimmed counts a pending message that was deleted, which no group is given any more.
local function message_trimmed(log, groups, group, id)
  redis.call('XACK', log, group, id)
  redis.call('HINCRBY', groups, '', 1)
end
