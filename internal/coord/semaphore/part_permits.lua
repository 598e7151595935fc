-- What the semaphore scripts share, over lib/leases.lua. A lease of one or more permits has in its holder's text
-- after since: permits, fence, max (us, when no renewal extends it any more, 0 = never) and meta, the numbers each
-- before a space. A semaphore is the table of a script's input semaphore, with the keys leases, holders and weights: a
-- sorted set of the leases of more than one permit, by how many. The field '' of holders, which is no token, is the last
-- fence. The three keys are written together and share one TTL.

-- Fences are remembered this much longer than the last lease, as long as stored replies are kept: so they cannot go
-- back with a small step of the clock.
local MEMORY_MS = 150000

-- permits_held is how many permits are held. It does not count leases one by one: at most 141 different weights
-- fit in 10,000 permits. more says that some that have ended are counted still, and another run is to take them out.
local function permits_held(semaphore)
  local held, more = leases_live(semaphore.leases, semaphore.holders, semaphore.weights)
  local below = '+inf'
  while true do
    local weight = redis.call('ZREVRANGEBYSCORE', semaphore.weights, below, '-inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
    if not weight then return held, more end
    held = held + (tonumber(weight) - 1) * redis.call('ZCOUNT', semaphore.weights, weight, weight)
    below = table.concat({'(', weight})
  end
end

-- permits_end is when so many more permits have come free by time, at the latest that at most 1,000 leases tell.
local function permits_end(semaphore, wanted)
  local list = redis.call('ZRANGE', semaphore.leases, 0, math.min(wanted, 1000) - 1, 'WITHSCORES')
  local heavy, ends = redis.call('ZCARD', semaphore.weights) > 0, 0
  for i = 1, #list, 2 do
    ends = tonumber(list[i + 1])
    wanted = wanted - (heavy and tonumber(redis.call('ZSCORE', semaphore.weights, list[i]) or 1) or 1)
    if wanted <= 0 then break end
  end
  return ends
end

-- permits_of is what a token holds, nil when it holds nothing.
local function permits_of(semaphore, token)
  local ends = tonumber(redis.call('ZSCORE', semaphore.leases, token) or 0)
  local text = redis.call('HGET', semaphore.holders, token)
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
local function permits_remember(semaphore)
  local last = redis.call('ZREVRANGE', semaphore.leases, 0, 0, 'WITHSCORES')[2]
  local ms = math.max(0, math.ceil((tonumber(last or 0) - now) / 1000)) + MEMORY_MS
  redis.call('PEXPIRE', semaphore.leases, ms)
  redis.call('PEXPIRE', semaphore.holders, ms)
  redis.call('PEXPIRE', semaphore.weights, ms)
end

-- permits_keep has a lease live for so long from now on: less than before only if told to, and never past its max.
local function permits_keep(semaphore, token, p, ttl_ms, shorten)
  p.ends = math.max(shorten and 0 or p.ends, now + ttl_ms * 1000)
  if p.max > 0 then p.ends = math.min(p.ends, p.max) end
  redis.call('ZADD', semaphore.leases, p.ends, token)
  redis.call('HSET', semaphore.holders, token, table.concat({
    leases_text(p.session, p.client, p.instance, p.since), string.format(' %d %d %d ', p.permits, p.fence, p.max), p.meta,
  }))
  if p.permits > 1 then redis.call('ZADD', semaphore.weights, p.permits, token) end
  permits_remember(semaphore)
end

-- permits_left_ms is the time until a lease ends, rounded down; permits_final says whether no renewal extends it any more.
local function permits_left_ms(p) return math.floor((p.ends - now) / 1000) end
local function permits_final(p) return p.max > 0 and p.ends >= p.max end
