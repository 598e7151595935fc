-- Charges a log of what was admitted, all bands or none, or says when it may succeed. A slot is given only where all
-- that stands after one period before it and the cost are within the limit, and no entry stands before its slot; so of
-- any half-open interval of one period the slot that was given last had all the others counted: it has at most the limit.
-- USES clock once lifetime bands log gate admit request
-- LATER line leases seat
-- KEYS state (sorted set, see prelude_log.lua); gate (hash, see prelude_gate.lua);
--      leases (sorted set, see prelude_leases.lua, as the rest only with max_concurrent); holders (hash);
--      line (sorted set, see prelude_line.lua); beats (sorted set)
-- ARGV cost (tokens); peek (1 = take nothing, 2 = and tell every band); wait_us (how far away the slot may be);
--      revision (of the rule, rises); signature (all bands as text); id (of what is charged); max_concurrent (leases at once,
--      0 = any number); hold_ms (how long a lease lives); session (id, empty = none); client (any bytes); instance (any bytes);
--      waiter (the caller's in the line, empty = it does not wait); beat_ms (its place lives so long, 0 = it leaves the line);
--      inboxes (what the names of the sidecars' channels begin with)
-- RETURNS allowed (1, 2 = at the slot, or 0); band (from 1); remaining (tokens, never negative); current (tokens, with those
--      promised); retry_after_us (-1 = never; when allowed is 2, until the slot); reset_after_us; now_us;
--      denied (limit, pause, delay, concurrency or empty); newer (all bands of the rule that decided, if it is newer than the
--      caller's, else empty); first (1 = nobody alive is before the caller in the line);
--      bands (how many follow); then (for each); remaining; current; reset_after_us
-- TTL state: until the last entry counts no more, 1 % and 1 s longer; gate, leases, holders, line, beats: see their preludes
-- COST O(bands * log(entries) + ended leases + dead waiters): ZRANGE twice, for each band ZRANGEBYSCORE, and when it is full
--      ZRANGE for each step of a search; when it took something ZCOUNT, ZREMRANGEBYRANK (at most 1,000), ZADD and PEXPIRE
return once(latch, ARGV[15], function()
  local r = request(later)
  local s = log_read(r.sig, r.revision)
  for _, b in ipairs(s.bands) do
    b.from, b.sum = math.max(now - b.us, -1), 0
    if s.at > b.from then
      local first = redis.call('ZRANGEBYSCORE', KEYS[1], string.format('(%.0f', b.from), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
      local total, cost = entry_of(first[1])
      b.first, b.cost, b.before, b.sum = tonumber(first[2]), cost, total - cost, s.total - total + cost
    end
  end

  local a = {}

  -- wait looks for the first entry with which enough goes out of the window: at the latest the last one is it.
  function a.wait(_, b, cost)
    if cost > b.c then return -1 end
    local need = b.sum + cost - b.c
    if need <= 0 then return 0 end
    if b.cost >= need then return b.first + b.us - now end
    local low, high = redis.call('ZCOUNT', KEYS[1], '-inf', b.from) + 1, redis.call('ZCARD', KEYS[1]) - 1
    while low < high do
      local mid = math.floor((low + high) / 2)
      if entry_of(redis.call('ZRANGE', KEYS[1], mid, mid)[1]) - b.before >= need then high = mid else low = mid + 1 end
    end
    return tonumber(redis.call('ZRANGE', KEYS[1], low, low, 'WITHSCORES')[2]) + b.us - now
  end

  function a.view(_, b)
    return b.c - b.sum, b.sum, b.sum > 0 and s.at + b.us - now or 0
  end

  function a.take(_, cost, ahead)
    local rule = table.concat({'rule:', string.format('%.0f', s.v), ':', s.sig})
    if rule ~= s.rule then
      if s.rule then redis.call('ZREM', KEYS[1], s.rule) end
      redis.call('ZADD', KEYS[1], -1, rule)
    end
    local gone = redis.call('ZCOUNT', KEYS[1], 0, now - s.longest)
    if gone > 0 then redis.call('ZREMRANGEBYRANK', KEYS[1], 1, math.min(gone, 1000)) end
    s.at, s.total = math.max(s.at, now + ahead), s.total + cost
    redis.call('ZADD', KEYS[1], s.at, entry_text(s.total, cost, r.id))
    for _, b in ipairs(s.bands) do b.sum = b.sum + cost end
    log_keep(s)
  end

  return admit(a, s, r)
end)
