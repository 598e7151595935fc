-- Leases that are held at the same time, up to a limit: a sorted set of ids by when they end (us), and a hash that has the
-- holder of each id: the texts session, client and instance, each after its length, and since (us). Both are written
-- together and share one TTL.

-- leases_live returns how many leases have not ended. It removes at most 1,000 that have, also from other, a sorted set of
-- some of them; its second result is true if there may be more.
local function leases_live(leases, holders, other)
  local dead = redis.call('ZRANGEBYSCORE', leases, '-inf', now, 'LIMIT', 0, 1000)
  if #dead > 0 then
    redis.call('ZREM', leases, unpack(dead))
    redis.call('HDEL', holders, unpack(dead))
    if other then redis.call('ZREM', other, unpack(dead)) end
  end
  return redis.call('ZCARD', leases) - redis.call('ZCOUNT', leases, '-inf', now), #dead == 1000
end

-- leases_keep sets the TTL of both keys to the end of the last lease plus a second.
local function leases_keep(leases, holders)
  local last = redis.call('ZREVRANGE', leases, 0, 0, 'WITHSCORES')[2]
  if not last then return end
  local ms = math.ceil((tonumber(last) - now) / 1000) + 1000
  redis.call('PEXPIRE', leases, math.max(ms, 1))
  redis.call('PEXPIRE', holders, math.max(ms, 1))
end

-- leases_text returns the text of a holder in the hash.
local function leases_text(session, client, instance, since)
  return table.concat({
    string.format('%d:', #session), session, string.format('%d:', #client), client,
    string.format('%d:', #instance), instance, string.format('%d', since),
  })
end

local function leases_take(leases, holders, id, ends, session, client, instance)
  redis.call('ZADD', leases, ends, id)
  redis.call('HSET', holders, id, leases_text(session, client, instance, now))
  leases_keep(leases, holders)
end

-- leases_state returns 1 if the session holds the lease, an empty session matching any; 0 if the lease has ended or never
-- existed; 2 if another session holds it. It also returns when the lease ends.
local function leases_state(leases, holders, id, session)
  local ends, text = tonumber(redis.call('ZSCORE', leases, id) or 0), redis.call('HGET', holders, id) or ''
  if ends <= now then return 0, ends end
  if session == '' then return 1, ends end
  local colon = string.find(text, ':', 1, true) or 0
  local n = tonumber(string.sub(text, 1, colon - 1)) or 0
  return string.sub(text, colon + 1, colon + n) == session and 1 or 2, ends
end

local function leases_free(leases, holders, id)
  redis.call('ZREM', leases, id)
  redis.call('HDEL', holders, id)
  leases_keep(leases, holders)
end
