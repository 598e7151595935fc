-- How a member is leased. A user uses line, pool, pool_wake, pool_lease, pool_view, pool_pick and pool_request before it.

-- pool_take leases a candidate c, and has take do what else its acquisition does.
local function pool_take(r, c, take)
  local m = pool_read(c.text)
  local fence = math.max(tonumber(redis.call('HGET', STATE, 'fence') or 0) + 1, now)
  -- A lease that ended by itself is still known; its token may have another member since.
  local old = m.token ~= '' and redis.call('HGET', TOKENS, m.token) == c.id and m.token
  m.ends, m.fence, m.since, m.prev, m.probe, m.generation, m.policy = now + r.lease, fence, now, c.last, 0, 0, ''
  m.token, m.session, m.client, m.instance = r.token, r.session, r.client, r.instance
  if m.last == r.token then m.last = '' end
  if take then take(c, m) end
  if old then redis.call('HDEL', TOKENS, old) end
  redis.call('HSET', MEMBERS, c.id, pool_text(m))
  redis.call('HSET', TOKENS, r.token, c.id)
  redis.call('HSET', STATE, 'fence', fence)
  pool_use(USED, c.id, fence, 0, c.era)
  redis.call('ZREM', IDLE, c.id)
  redis.call('ZADD', AWAY, m.ends, c.id)
  view_keep()
  if r.sticky_ms > 0 then redis.call('SET', KEYS[15], c.id, 'PX', r.sticky_ms) end
  return m
end

-- pool_again is the lease that this token has already, which then lives for its time from now on.
local function pool_again(r)
  local id, m = pool_lease(r.token, '')
  if pool_state(m, r.token, '') ~= 1 then return nil end
  m.ends, m.session, m.client, m.instance = math.max(m.ends, now + r.lease), r.session, r.client, r.instance
  redis.call('HSET', MEMBERS, id, pool_text(m))
  return id, m
end

-- pool_refuse has who may not have a member yet enter the line, keep its place, or leave it.
local function pool_refuse(r, first, at, why, more)
  if r.waiter ~= '' and r.beat_ms > 0 then
    line_enter(LINE, BEATS, r.waiter, r.beat_ms)
    if first == 1 then pool_head(r.waiter) end
  elseif not more and pool_leave(LINE, BEATS, r.waiter) then
    -- What it may not have the next one may.
    line_wake(LINE, BEATS, r.inboxes)
  end
  local retry = at >= NEVER and -1 or math.max(at - now, 0)
  return {0, '', 0, '', 0, 0, why, retry, retry > 0 and math.ceil(at / 1000) or 0, first, more and 1 or 0}
end

-- pool_acquire is the whole of it; take is told of the candidate and the member that is about to be leased. It returns the
-- reply, whether a member is leased now, its id and the member.
local function pool_acquire(r, take)
  local id, m = pool_again(r)
  if not id then
    line_hear(LINE, BEATS, r.waiter, r.beat_ms)
    local head = line_head(LINE, BEATS)
    if head and head ~= r.waiter then return pool_refuse(r, 0, now + 1000000, 'busy', false), false end
    local more = not view_follow()
    local c = not more and pool_sticky(r) or nil
    if not c and not more then c, more = view_pick(r) end
    if not c then
      local at, why = 0, ''
      if not more then at, why = view_soonest(r) end
      view_keep()
      return pool_refuse(r, 1, at, why, more or at == 0), false
    end
    id, m = c.id, pool_take(r, c, take)
  end
  local left = pool_leave(LINE, BEATS, r.waiter)
  local meta, free = redis.call('HGET', META, id) or '', redis.call('ZCARD', IDLE)
  -- Whoever takes one and leaves others wakes the next.
  if left and free > 0 then line_wake(LINE, BEATS, r.inboxes) end
  return {1, id, m.fence, meta, math.floor((m.ends - now) / 1000), math.floor(m.prev / 1000), '', 0, 0, 1, 0}, true, id, m
end
