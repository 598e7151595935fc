-- A view of a pool: idle (sorted set, members that may be possible now, by their last use in the scope, or by born if they
-- have none), away (sorted set, the others, by when each is next possible, us) and seen (string, the last change it has
-- followed). Whatever makes a member possible earlier than a view believes is a change; that one is possible later is found
-- when it is looked at. So a view that is lost begins with no change seen, and makes itself anew. All three live as long,
-- seen a little less. used (hash of the scope, see pool_used) is no part of it.
local IDLE, AWAY, SEEN, USED, LINE, BEATS = KEYS[9], KEYS[10], KEYS[11], KEYS[12], KEYS[13], KEYS[14]
local VIEW_MS = 600000
local NEVER = 9007199254740991
-- So many members are moved in one run, and looked at among the idle.
local MOVED, LOOKED = 400, 128

local function view_keep()
  redis.call('PEXPIRE', IDLE, VIEW_MS + 60000)
  redis.call('PEXPIRE', AWAY, VIEW_MS + 60000)
  redis.call('PEXPIRE', SEEN, VIEW_MS)
end

-- view_read has what is known of some members: r.read and r.judge, if they are there, are of what else is asked of them.
local function view_read(r, ids)
  return {ids = ids, st = redis.call('HMGET', MEMBERS, unpack(ids)), used = redis.call('HMGET', USED, unpack(ids)),
    more = r.read and r.read(ids)}
end

-- view_later notes something that is in a member's way until then.
local function view_later(c, at, why)
  if at > now and at > c.at then c.at, c.why = at, why end
end

-- view_judge is the i-th of them: id, text, last, cool, era, score (in idle), at (us, when it is possible, 0 = now) and why; nil
-- when it is not in the pool any more.
local function view_judge(r, rows, i)
  local text = rows.st[i]
  if not text then return nil end
  local born, ends, ban, pause, era = pool_times(text)
  local c = {id = rows.ids[i], text = text, pause = pause, era = era, at = 0}
  c.last, c.cool = pool_used(rows.used[i], born, era)
  c.score = c.last > 0 and c.last or born
  view_later(c, ends, 'busy')
  view_later(c, c.cool, 'cooling')
  view_later(c, ban < 0 and NEVER or ban, 'banned')
  if r.judge then r.judge(c, rows.more, i) end
  return c
end

-- view_idle has members be looked at in their order.
local function view_idle(ids)
  if #ids == 0 then return end
  local rows, add = view_read({}, ids), {'ZADD', IDLE}
  for i = 1, #ids do
    local c = view_judge({}, rows, i)
    if c then add[#add + 1], add[#add + 2] = c.score, c.id end
  end
  if #add > 2 then redis.call(unpack(add)) end
  redis.call('ZREM', AWAY, unpack(ids))
end

-- view_follow has the view know all changes, and whom to look at now. It returns false when it takes another run.
local function view_follow()
  local seen, ids = tonumber(redis.call('GET', SEEN) or 0), {}
  local list = redis.call('ZRANGEBYSCORE', CHANGES, string.format('(%.0f', seen), '+inf', 'WITHSCORES', 'LIMIT', 0, MOVED)
  for i = 1, #list, 2 do ids[#ids + 1] = list[i] end
  view_idle(ids)
  if #list > 0 then redis.call('SET', SEEN, list[#list]) end
  if #ids == MOVED then return false end
  local due = redis.call('ZRANGEBYSCORE', AWAY, '-inf', now, 'LIMIT', 0, MOVED - #ids)
  view_idle(due)
  return #ids + #due < MOVED
end
