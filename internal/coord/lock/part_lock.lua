-- What the lock scripts share. The state of a lock is one hash. Its fields fence and last (the last token
-- that was released) are kept while the lock is free. Its other fields describe the current owner, or one whose lock
-- has expired: token, until (us), session, client, instance, since (us), max (us, the end of the maximal hold, 0 =
-- no maximum) and meta.

-- The key of a free lock is kept this much longer, as long as a stored reply (lib/once.lua): its fence then
-- does not go back when the clock steps back by less, and a call that is repeated late finds what became of its grant.
local MEMORY_MS = 150000

local function lock_read(key)
  local f = redis.call('HMGET', key, 'token', 'until', 'fence', 'session', 'last', 'client', 'instance', 'since', 'max', 'meta')
  local lock = {
    token = f[1] or '', ends = tonumber(f[2] or 0), fence = tonumber(f[3] or 0), session = f[4] or '',
    last = f[5] or '', client = f[6] or '', instance = f[7] or '', since = tonumber(f[8] or 0),
    max = tonumber(f[9] or 0), meta = f[10] or '',
  }
  lock.held = lock.token ~= '' and lock.ends > now
  return lock
end

-- lock_state returns whether a token and a session hold the lock, as a State of lease/state.go.
local function lock_state(lock, token, session)
  if not lock.held then return lock.last == token and 3 or 0 end
  if lock.token ~= token then return 2 end
  return (session == '' or lock.session == session) and 1 or 4
end

-- lock_left_ms returns the time that the owner has left, rounded down.
local function lock_left_ms(lock)
  return lock.held and math.floor((lock.ends - now) / 1000) or 0
end

-- lock_until sets and returns the end of the hold: ttl_ms from now, but at most max. It moves an end that was promised
-- earlier back only if shorten is set.
local function lock_until(lock, ttl_ms, shorten)
  lock.ends = math.max(shorten and 0 or lock.ends, now + ttl_ms * 1000)
  if lock.max > 0 then lock.ends = math.min(lock.ends, lock.max) end
  return lock.ends
end

-- lock_final returns whether the hold ends at max, so that no renewal extends it any more.
local function lock_final(lock)
  return lock.max > 0 and lock.ends >= lock.max
end

-- lock_free ends the hold. It keeps the fence, and last.
local function lock_free(key, lock)
  redis.call('HDEL', key, 'token', 'until', 'session', 'client', 'instance', 'since', 'max', 'meta')
  lock.ends = now
end

local function lock_remember(key, lock)
  redis.call('PEXPIRE', key, math.ceil((lock.ends - now) / 1000) + MEMORY_MS)
end
