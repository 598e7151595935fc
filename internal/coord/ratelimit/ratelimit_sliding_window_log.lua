-- Charges a log of what was admitted, all bands or none, or says when it may succeed. A slot is given only if its cost and all
-- entries later than one period before it are within the limit, and no entry is put before its slot. So when the last slot of a
-- half-open interval of one period was given, all others in it were counted: the interval has at most the limit.
-- USES clock lifetime bands log pace admit
-- LATER line leases permit
-- KEYS state; pace; leases; holders; line; heartbeats
-- ARGV cost; peek; wait_us; revision; signature; id; max_concurrent; hold_ms; session; client; instance; waiter; heartbeat_ms;
--      inboxes
-- RETURNS allowed; band; remaining; current; retry_after_us; reset_after_us; now_us; denied; newer; first; bands; then; remaining;
--      current; reset_after_us
-- TTL state: until the last entry counts no more, 1 % and 1 s longer; pace, leases, holders, line, heartbeats: see their parts
-- COST O(bands * log(entries) + ended leases + dead waiters): ZRANGE twice, for each band ZRANGEBYSCORE, and when it is full
--      ZRANGE for each step of a search; when it took something ZCOUNT, ZREMRANGEBYRANK (at most 1,000), ZADD and PEXPIRE
local s = log_read(state_key, charge.signature, charge.revision)
for _, b in ipairs(s.bands) do
  b.from, b.sum = math.max(now - b.us, -1), 0
  if s.at > b.from then
    local first = redis.call('ZRANGEBYSCORE', state_key, string.format('(%.0f', b.from), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
    local total, cost = log_entry(first[1])
    b.first, b.cost, b.before, b.sum = tonumber(first[2]), cost, total - cost, s.total - total + cost
  end
end

local a = {}

-- wait searches for the first entry after whose expiry the cost fits; at the latest it is the last entry.
function a.wait(_, b, cost)
  if cost > b.c then return -1 end
  local need = b.sum + cost - b.c
  if need <= 0 then return 0 end
  if b.cost >= need then return b.first + b.us - now end
  local low, high = redis.call('ZCOUNT', state_key, '-inf', b.from) + 1, redis.call('ZCARD', state_key) - 1
  while low < high do
    local mid = math.floor((low + high) / 2)
    if log_entry(redis.call('ZRANGE', state_key, mid, mid)[1]) - b.before >= need then high = mid else low = mid + 1 end
  end
  return tonumber(redis.call('ZRANGE', state_key, low, low, 'WITHSCORES')[2]) + b.us - now
end

function a.view(_, b)
  return b.c - b.sum, b.sum, b.sum > 0 and s.at + b.us - now or 0
end

function a.take(_, cost, ahead)
  local rule = table.concat({'rule:', string.format('%.0f', s.v), ':', s.sig})
  if rule ~= s.rule then
    if s.rule then redis.call('ZREM', state_key, s.rule) end
    redis.call('ZADD', state_key, -1, rule)
  end
  local gone = redis.call('ZCOUNT', state_key, 0, now - s.longest)
  if gone > 0 then redis.call('ZREMRANGEBYRANK', state_key, 1, math.min(gone, 1000)) end
  s.at, s.total = math.max(s.at, now + ahead), s.total + cost
  redis.call('ZADD', state_key, s.at, log_entry_text(s.total, cost, charge.id))
  for _, b in ipairs(s.bands) do b.sum = b.sum + cost end
  log_keep(s)
end

return admit(a, s, pace_key, charge, permit.max_concurrent > 0 and later()(permit, charge))
