-- What the semaphore scripts share, on top of lib/leases.lua. After since, the holder's text of a lease has: permits, fence, max (us,
-- the time past which no renewal extends the lease, 0 = none), each followed by a space, and meta. A semaphore is the table of a
-- script's input semaphore, with the keys leases, holders and weights (a sorted set of the leases of more than one permit, by number of
-- permits). The field '' of holders, which cannot be a token, is the last fence. The three keys are written together and share one TTL.

-- The last fence is kept for this long after the last lease ends, as long as stored replies are kept: so a small backward step of the
-- clock cannot lower fences.
local MEMORY_MS = 150000

-- permits_held returns how many permits are held. It does not count leases one by one: at most 141 different weights fit in 10,000
-- permits. more is true if some leases that have ended are still counted; another run must remove them.
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

-- permits_end returns when (us) the wanted number of permits will have become free as leases end. It reads at most 1,000 leases; if
-- those do not free enough, it returns the end of the last of them.
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

-- permits_of returns the lease of a token, or nil if the token holds nothing.
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

-- permits_remember sets the TTL of all keys: until the last lease ends, and MEMORY_MS more.
local function permits_remember(semaphore)
  local last = redis.call('ZREVRANGE', semaphore.leases, 0, 0, 'WITHSCORES')[2]
  local ms = math.max(0, math.ceil((tonumber(last or 0) - now) / 1000)) + MEMORY_MS
  redis.call('PEXPIRE', semaphore.leases, ms)
  redis.call('PEXPIRE', semaphore.holders, ms)
  redis.call('PEXPIRE', semaphore.weights, ms)
end

-- permits_keep sets the end of a lease to ttl_ms from now: earlier than before only if shorten is true, and never past its max.
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

-- permits_left_ms returns the time until a lease ends, rounded down; permits_final reports whether no renewal extends it any more.
local function permits_left_ms(p) return math.floor((p.ends - now) / 1000) end
local function permits_final(p) return p.max > 0 and p.ends >= p.max end
