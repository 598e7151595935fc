-- The lease of a pool's member.

-- pool_lease finds a lease by its token, and its member if that is known: the member's id and the member, or nil.
local function pool_lease(pool, token, id)
  if token == '' then return id end
  if id == '' then id = redis.call('HGET', pool.tokens, token) or '' end
  if id == '' then return id end
  local text = redis.call('HGET', pool.members, id)
  return id, text and pool_read(text) or nil
end

-- pool_state is what a member is to a token and a session, as State in lease/state.go. That the token was released last is told
-- also while the next one has the member.
local function pool_state(m, token, session)
  if not m or token == '' then return 0 end
  if m.token == token and m.ends > now then return (session == '' or m.session == session) and 1 or 4 end
  if m.last == token then return 3 end
  return m.token ~= token and m.ends > now and 2 or 0
end

-- pool_again is the lease that the token of an acquisition r has already. It lives for its time from now on.
local function pool_again(pool, r)
  local id, m = pool_lease(pool, r.token, '')
  if pool_state(m, r.token, '') ~= 1 then return nil end
  m.ends, m.session, m.client, m.instance = math.max(m.ends, now + r.lease_ms * 1000), r.session, r.client, r.instance
  redis.call('HSET', pool.members, id, pool_text(m))
  return id, m
end
