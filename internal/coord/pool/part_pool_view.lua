-- A view of a pool. The table view has its keys: idle (sorted set, members that may be possible now, by their last use in the scope, or
-- by born if they have none), away (sorted set, the others, by when each is next possible, us), seen (string, the last change that the
-- view has followed), used (hash of the scope, see pool_used), and line and heartbeats (see lib/line.lua). A change is recorded
-- whenever a member may become possible earlier than a view has it; that a member is possible only later is found when the view looks
-- at it. So a view that has expired starts with no change seen, and is built again from the changes of all members. idle and away have
-- one TTL, seen a minute less. The other keys are no part of the view. A script uses pool before this part.
local VIEW_MS = 600000
local NEVER = 9007199254740991
-- The most members that one run moves, and the most that it looks at in idle or in away.
local MOVED, LOOKED = 400, 128

local function view_keep(view)
  redis.call('PEXPIRE', view.idle, VIEW_MS + 60000)
  redis.call('PEXPIRE', view.away, VIEW_MS + 60000)
  redis.call('PEXPIRE', view.seen, VIEW_MS)
end

-- view_read reads what is stored of some members. An acquisition r that asks more of members than a pool does has r.read,
-- which reads that, and r.judge, which view_judge calls. Both may be absent, and so may r.
local function view_read(pool, view, ids, r)
  return {
    ids = ids, texts = redis.call('HMGET', pool.members, unpack(ids)), used = redis.call('HMGET', view.used, unpack(ids)),
    more = r and r.read and r.read(ids),
  }
end

-- view_later records that a candidate is not possible before an instant (us), and why.
local function view_later(c, at, why)
  if at > now and at > c.at then c.at, c.why = at, why end
end

-- view_judge makes a candidate from the i-th member that view_read has read: id, text, last, cool, era, score (in idle), at (us, when
-- it is possible, 0 = now) and why (not before). It returns nil if the member is not in the pool any more.
local function view_judge(rows, i, r)
  local text = rows.texts[i]
  if not text then return nil end
  local born, ends, ban, pause, era = pool_times(text)
  local c = {id = rows.ids[i], text = text, pause = pause, era = era, at = 0}
  c.last, c.cool = pool_used(rows.used[i], born, era)
  c.score = c.last > 0 and c.last or born
  view_later(c, ends, 'busy')
  view_later(c, c.cool, 'cooling')
  view_later(c, ban < 0 and NEVER or ban, 'banned')
  if r and r.judge then r.judge(c, rows.more, i) end
  return c
end

-- view_idle moves members to idle.
local function view_idle(pool, view, ids)
  if #ids == 0 then return end
  local rows, add = view_read(pool, view, ids), {'ZADD', view.idle}
  for i = 1, #ids do
    local c = view_judge(rows, i)
    if c then add[#add + 1], add[#add + 2] = c.score, c.id end
  end
  if #add > 2 then redis.call(unpack(add)) end
  redis.call('ZREM', view.away, unpack(ids))
end

-- view_follow moves to idle the members that have changed, and those in away whose time has come. It returns false if there may be more
-- than one run moves.
local function view_follow(pool, view)
  local seen, ids = tonumber(redis.call('GET', view.seen) or 0), {}
  local list = redis.call('ZRANGEBYSCORE', pool.changes, string.format('(%d', seen), '+inf', 'WITHSCORES', 'LIMIT', 0, MOVED)
  for i = 1, #list, 2 do ids[#ids + 1] = list[i] end
  view_idle(pool, view, ids)
  if #list > 0 then redis.call('SET', view.seen, list[#list]) end
  if #ids == MOVED then return false end
  local due = redis.call('ZRANGEBYSCORE', view.away, '-inf', now, 'LIMIT', 0, MOVED - #ids)
  view_idle(pool, view, due)
  return #ids + #due < MOVED
end
