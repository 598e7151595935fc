-- Grants a lock, or says who holds it.
-- USES clock once lock
-- KEYS lock (hash, see prelude_lock.lua)
-- ARGV token (the owner's secret); ttl_ms; session (id, empty = bound to its TTL); client (any bytes); instance (any bytes)
-- RETURNS acquired (1 or 0); fence (0 when it was not acquired); ttl_ms (left, down); client (the owner's); instance; since_ms
-- TTL lock: what the owner has left, and 60 s
-- COST O(1): HMGET, and when granted HSET and PEXPIRE
return once(KEYS[2], ARGV[6], function()
  local token, session, client, instance = ARGV[1], ARGV[3], ARGV[4], ARGV[5]
  local lock = read()
  if lock.held and lock.token ~= token then
    return {0, 0, left_ms(lock), lock.client, lock.instance, math.floor(lock.since / 1000)}
  end
  if not lock.held then
    lock.fence, lock.ends, lock.since = math.max(lock.fence + 1, now), 0, now
    -- The token owns again: that it was released before is no longer news.
    if lock.last == token then lock.last = '' end
    lock.held = true
  end
  redis.call('HSET', KEYS[1], 'token', token, 'until', hold_until(lock, tonumber(ARGV[2])), 'fence', lock.fence,
    'session', session, 'client', client, 'instance', instance, 'since', lock.since, 'last', lock.last)
  remember(lock)
  return {1, lock.fence, left_ms(lock), client, instance, math.floor(lock.since / 1000)}, true
end)
