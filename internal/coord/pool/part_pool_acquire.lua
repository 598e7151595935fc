-- How a member is leased. An acquisition r is a table with the inputs of pool_acquire.lua. A script uses line, pool, pool_wake,
-- pool_lease, pool_view and pool_pick before this part.

-- pool_sticky returns the member that the acquisition's sticky name had before, as a candidate, if it is possible now.
local function pool_sticky(pool, view, r)
  local id = r.sticky and r.sticky_ms > 0 and redis.call('GET', r.sticky)
  if not id or r.excluded[id] then return nil end
  local c = view_judge(view_read(pool, view, {id}, r), 1, r)
  return c and c.at == 0 and c or nil
end

-- pool_take leases a candidate c. If take is given, it is called with c and the member before the member is stored.
local function pool_take(pool, view, r, c, take)
  local m = pool_read(c.text)
  local fence = math.max(tonumber(redis.call('HGET', pool.state, 'fence') or 0) + 1, now)
  -- tokens still has the token of a lease that ended by time; that token may hold another member since.
  local old = m.token ~= '' and redis.call('HGET', pool.tokens, m.token) == c.id and m.token
  m.ends, m.fence, m.since, m.prev = now + r.lease_ms * 1000, fence, now, c.last
  m.probe, m.generation, m.policy = 0, 0, ''
  m.token, m.session, m.client, m.instance = r.token, r.session, r.client, r.instance
  if m.last == r.token then m.last = '' end
  if take then take(c, m) end
  if old then redis.call('HDEL', pool.tokens, old) end
  redis.call('HSET', pool.members, c.id, pool_text(m))
  redis.call('HSET', pool.tokens, r.token, c.id)
  redis.call('HSET', pool.state, 'fence', fence)
  pool_use(view.used, c.id, fence, 0, c.era)
  redis.call('ZREM', view.idle, c.id)
  redis.call('ZADD', view.away, m.ends, c.id)
  view_keep(view)
  if r.sticky and r.sticky_ms > 0 then redis.call('SET', r.sticky, c.id, 'PX', r.sticky_ms) end
  return m
end

-- pool_refuse returns the reply of an acquisition that gets no member. Its waiter enters the waiting line, keeps its place there, or
-- leaves it.
local function pool_refuse(pool, view, r, first, at, why, more)
  if r.waiter ~= '' and r.heartbeat_ms > 0 then
    line_enter(view.line, view.heartbeats, r.waiter, r.heartbeat_ms)
    if first then pool_head(pool, r.waiter) end
  elseif not more and pool_leave(pool, view.line, view.heartbeats, r.waiter) then
    -- The next waiter may be able to get a member that this one may not have.
    line_wake(view.line, view.heartbeats, r.inboxes)
  end
  local retry_us = at >= NEVER and -1 or math.max(at - now, 0)
  return {reason = why, retry_us = retry_us, next_ms = retry_us > 0 and math.ceil(at / 1000) or 0, first = first, more = more}
end

-- pool_acquire carries out an acquisition. take is as in pool_take. It returns the reply, whether a member is leased now, its id and
-- the member.
local function pool_acquire(pool, view, r, take)
  local id, m = pool_again(pool, r)
  if not id then
    line_hear(view.line, view.heartbeats, r.waiter, r.heartbeat_ms)
    local head = line_head(view.line, view.heartbeats)
    if head and head ~= r.waiter then return pool_refuse(pool, view, r, false, now + 1000000, 'busy', false), false end
    r.excluded = {}
    for _, unwanted in ipairs(r.exclude) do r.excluded[unwanted] = true end
    local more = not view_follow(pool, view)
    local c = not more and pool_sticky(pool, view, r) or nil
    if not c and not more then c, more = view_pick(pool, view, r) end
    if not c then
      local at, why = 0, ''
      if not more then at, why = view_soonest(pool, view, r) end
      view_keep(view)
      return pool_refuse(pool, view, r, true, at, why, more or at == 0), false
    end
    id, m = c.id, pool_take(pool, view, r, c, take)
  end
  local left = pool_leave(pool, view.line, view.heartbeats, r.waiter)
  local meta, free = redis.call('HGET', pool.meta, id), redis.call('ZCARD', view.idle)
  -- A waiter that takes a member while others are free wakes the next one.
  if left and free > 0 then line_wake(view.line, view.heartbeats, r.inboxes) end
  return {
    acquired = true, id = id, fence = m.fence, meta = meta, lease_ms = math.floor((m.ends - now) / 1000),
    last_used_ms = math.floor(m.prev / 1000), first = true,
  }, true, id, m
end
