-- What the seen scripts share. The state is one hash. token, until (us) and session are those of a reservation. done is the
-- time (us) until which the key is marked as done. last is the last token whose reservation its holder ended: by a commit if
-- the hash has done, else by a release.

-- The state is kept this much longer (ms) than it is valid, as long as stored replies are, so that a repeated call can
-- return what became of its token.
local MEMORY_MS = 150000

local function seen_read(key)
  local f = redis.call('HMGET', key, 'token', 'until', 'session', 'done', 'last')
  local s = {
    token = f[1] or '', ends = tonumber(f[2] or 0), session = f[3] or '', done = tonumber(f[4] or 0), last = f[5] or '',
  }
  s.held = s.token ~= '' and s.ends > now
  return s
end

-- seen_state returns the State of scripts.go of a key for a token and a session; empty = any session.
local function seen_state(s, token, session)
  if s.held and s.token == token then return (session == '' or s.session == session) and 1 or 2 end
  if s.last ~= token then return 0 end
  return s.done > 0 and 4 or 3
end

-- seen_keep sets the TTL so that the key expires MEMORY_MS after ends (us).
local function seen_keep(key, ends)
  redis.call('PEXPIRE', key, math.max(math.ceil((ends - now) / 1000), 0) + MEMORY_MS)
end

-- seen_end ends a reservation.
local function seen_end(key, s)
  redis.call('HDEL', key, 'token', 'until', 'session', 'done')
  redis.call('HSET', key, 'last', s.token)
end
