-- What the seen scripts share. The state is one hash: token, until (us) and session of a reservation; done, until when
-- (us) the key is remembered as done; last, the last token whose reservation its holder ended: by a commit if done is
-- there, else by a release.

-- The state is kept this much longer (ms) than it counts, as long as stored replies are: so a repeated call is told what
-- became of its token.
local MEMORY_MS = 150000

local function seen_read(key)
  local f = redis.call('HMGET', key, 'token', 'until', 'session', 'done', 'last')
  local s = {
    token = f[1] or '', ends = tonumber(f[2] or 0), session = f[3] or '', done = tonumber(f[4] or 0), last = f[5] or '',
  }
  s.held = s.token ~= '' and s.ends > now
  return s
end

-- seen_state is what a key is to a token and a session, empty = any, as SeenState in seen.go.
local function seen_state(s, token, session)
  if s.held and s.token == token then return (session == '' or s.session == session) and 1 or 2 end
  if s.last ~= token then return 0 end
  return s.done > 0 and 4 or 3
end

-- seen_keep has the key live until then (us), and MEMORY_MS.
local function seen_keep(key, ends)
  redis.call('PEXPIRE', key, math.max(math.ceil((ends - now) / 1000), 0) + MEMORY_MS)
end

-- seen_end ends a reservation.
local function seen_end(key, s)
  redis.call('HDEL', key, 'token', 'until', 'session', 'done')
  redis.call('HSET', key, 'last', s.token)
end
