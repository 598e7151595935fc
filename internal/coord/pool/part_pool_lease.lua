-- The lease of a pool's member.

-- pool_lease finds the lease of a token; id is its member's id, or '' if that is not known. It returns the member's id and the member,
-- which is nil if there is none.
local function pool_lease(pool, token, id)
  if token == '' then return id end
  if id == '' then id = redis.call('HGET', pool.tokens, token) or '' end
  if id == '' then return id end
  local text = redis.call('HGET', pool.members, id)
  return id, text and pool_read(text) or nil
end

-- pool_state returns the state of a token's lease of a member, for a session, as State in lease/state.go. It is 3 for the token that
-- was released last even while the next token holds the member.
local function pool_state(m, token, session)
  if not m or token == '' then return 0 end
  if m.token == token and m.ends > now then return (session == '' or m.session == session) and 1 or 4 end
  if m.last == token then return 3 end
  return m.token ~= token and m.ends > now and 2 or 0
end

-- pool_again returns the member that the token of an acquisition r already holds, if any, and extends its lease to lease_ms from now.
local function pool_again(pool, r)
  local id, m = pool_lease(pool, r.token, '')
  if pool_state(m, r.token, '') ~= 1 then return nil end
  m.ends, m.session, m.client, m.instance = math.max(m.ends, now + r.lease_ms * 1000), r.session, r.client, r.instance
  redis.call('HSET', pool.members, id, pool_text(m))
  return id, m
end
