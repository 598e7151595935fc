-- What the semaphore scripts share, over prelude_leases.lua. A lease of one or more permits has in its holder's text
-- after since: permits, fence, max (us, when no renewal extends it any more, 0 = never) and meta, the numbers each
-- before a space. weights is a sorted set that has those of more than one permit, by how many. The field of holders
-- that no token has, '', is the last fence. The three keys are written together and share one TTL.
local leases, holders, weights = KEYS[1], KEYS[2], KEYS[3]

-- Fences are remembered this much longer than the last lease, as long as replies are by once: so they cannot go
-- back with a small step of the clock.
local MEMORY_MS = 150000

-- permits_held is how many permits are held. It does not count leases one by one: at most 141 different weights
-- fit in 10,000 permits. more says that some that have ended are counted still, and another run is to take them out.
local function permits_held()
  local held, more = leases_live(leases, holders, weights)
  local below = '+inf'
  while true do
    local weight = redis.call('ZREVRANGEBYSCORE', weights, below, '-inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
    if not weight then return held, more end
    held = held + (tonumber(weight) - 1) * redis.call('ZCOUNT', weights, weight, weight)
    below = table.concat({'(', weight})
  end
end

-- permits_end is when so many more permits have come free by themselves, at the latest that at most 1,000 leases tell.
local function permits_end(wanted)
  local list = redis.call('ZRANGE', leases, 0, math.min(wanted, 1000) - 1, 'WITHSCORES')
  local heavy, ends = redis.call('ZCARD', weights) > 0, 0
  for i = 1, #list, 2 do
    ends = tonumber(list[i + 1])
    wanted = wanted - (heavy and tonumber(redis.call('ZSCORE', weights, list[i]) or 1) or 1)
    if wanted <= 0 then break end
  end
  return ends
end

-- permits_of is what a token holds, nil when it holds nothing.
local function permits_of(token)
  local ends, text = tonumber(redis.call('ZSCORE', leases, token) or 0), redis.call('HGET', holders, token)
  if not text or ends <= now then return nil end
  local parts, at = {}, 1
  for i = 1, 3 do
    local colon = string.find(text, ':', at, true)
    local n = tonumber(string.sub(text, at, colon - 1))
    parts[i], at = string.sub(text, colon + 1, colon + n), colon + n + 1
  end
  local since, permits, fence, max, meta = string.match(string.sub(text, at), '^(%d+) (%d+) (%d+) (%d+) ()')
  return {
    ends = ends, session = parts[1], client = parts[2], instance = parts[3], since = tonumber(since),
    permits = tonumber(permits), fence = tonumber(fence), max = tonumber(max), meta = string.sub(text, at + meta - 1),
  }
end

-- permits_remember has all keys live as long as the last lease, and then as long as fences are remembered.
local function permits_remember()
  local last = redis.call('ZREVRANGE', leases, 0, 0, 'WITHSCORES')[2]
  local ms = math.max(0, math.ceil((tonumber(last or 0) - now) / 1000)) + MEMORY_MS
  redis.call('PEXPIRE', leases, ms)
  redis.call('PEXPIRE', holders, ms)
  redis.call('PEXPIRE', weights, ms)
end

-- permits_keep has a lease live for so long from now on: less than before only if told to, and never past its max.
local function permits_keep(token, p, ttl_ms, shorten)
  p.ends = math.max(shorten and 0 or p.ends, now + ttl_ms * 1000)
  if p.max > 0 then p.ends = math.min(p.ends, p.max) end
  redis.call('ZADD', leases, p.ends, token)
  redis.call('HSET', holders, token, table.concat({
    leases_text(p.session, p.client, p.instance, p.since),
    string.format(' %d %.0f %.0f ', p.permits, p.fence, p.max), p.meta,
  }))
  if p.permits > 1 then redis.call('ZADD', weights, p.permits, token) end
  permits_remember()
end

-- permits_left is what a lease has left, ms, rounded down, and whether no renewal extends it any more.
local function permits_left(p)
  return math.floor((p.ends - now) / 1000), p.max > 0 and p.ends >= p.max and 1 or 0
end
