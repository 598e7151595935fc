-- Grants a lock, or says who holds it and may give the caller a place in the line for it.
-- USES clock once lock line
-- KEYS lock (hash, see prelude_lock.lua); line (sorted set, see prelude_line.lua); beats (sorted set)
-- ARGV token (the owner's secret); ttl_ms; session (id, empty = bound to its TTL); client (any bytes); instance (any bytes);
--      waiter (the caller's in the line, empty = it does not wait); beat_ms (its place lives so long, 0 = it leaves the line);
--      max_hold_ms (no renewal passes that, 0 = any may); meta (any bytes, shown with the owner)
-- RETURNS acquired (1 or 0); fence (0 when it was not acquired); ttl_ms (left, down); client (the owner's); instance; since_ms;
--      first (1 = nobody alive is before the caller in the line); meta (the owner's); final (1 = no renewal extends it)
-- TTL lock: what the owner has left, and 150 s; line, beats: beat_ms and 60 s
-- COST O(1 + dead waiters): HMGET, ZRANGE, when granted HSET and PEXPIRE, when it waits ZADD, ZSCORE and PEXPIRE
return once(KEYS[4], ARGV[10], function()
  local token, session, client, instance = ARGV[1], ARGV[3], ARGV[4], ARGV[5]
  local waiter, beat_ms = ARGV[6], tonumber(ARGV[7])
  local lock = read()
  line_hear(KEYS[2], KEYS[3], waiter, beat_ms)
  local head = line_head(KEYS[2], KEYS[3])
  local first = (not head or waiter ~= '' and head == waiter) and 1 or 0
  if lock.held and lock.token ~= token or not lock.held and first == 0 then
    if waiter ~= '' and beat_ms > 0 then
      line_enter(KEYS[2], KEYS[3], waiter, beat_ms)
    elseif waiter ~= '' then
      redis.call('ZREM', KEYS[2], waiter)
    end
    return {0, 0, left_ms(lock), lock.client, lock.instance, math.floor(lock.since / 1000), first,
      lock.meta, 0}
  end
  if not lock.held then
    lock.fence, lock.ends, lock.since = math.max(lock.fence + 1, now), 0, now
    local max_ms = tonumber(ARGV[8])
    lock.max = max_ms > 0 and now + max_ms * 1000 or 0
    -- The token owns again: that it was released before is no longer news.
    if lock.last == token then lock.last = '' end
    lock.held = true
  end
  redis.call('HSET', KEYS[1], 'token', token, 'until', hold_until(lock, tonumber(ARGV[2])), 'fence', lock.fence,
    'session', session, 'client', client, 'instance', instance, 'since', lock.since, 'last', lock.last, 'max', lock.max, 'meta', ARGV[9])
  remember(lock)
  if waiter ~= '' then redis.call('ZREM', KEYS[2], waiter) end
  return {1, lock.fence, left_ms(lock), client, instance, math.floor(lock.since / 1000), first,
    ARGV[9], final(lock)}, true
end)
