-- Reserves a key, or says that it is reserved or done.
-- USES clock once seen
-- KEYS seen (hash, see prelude_seen.lua)
-- ARGV token (no other has it); ttl_ms; session (id, empty = bound to its TTL)
-- RETURNS reserved (1 or 0); was (0 = new, 1 = reserved, 2 = done); left_ms (of the reservation, down; else until it may be
--      reserved, up)
-- TTL seen: what the reservation has left, and 150 s
-- COST O(1): HMGET, and when reserved HSET, HDEL and PEXPIRE
return once(KEYS[2], ARGV[4], function()
  local s, token = seen_read(), ARGV[1]
  if s.done > now then return {0, 2, math.ceil((s.done - now) / 1000)} end
  if s.held and s.token ~= token then return {0, 1, math.ceil((s.ends - now) / 1000)} end
  local ends = math.max(now + tonumber(ARGV[2]) * 1000, s.held and s.ends or 0)
  redis.call('HSET', KEYS[1], 'token', token, 'until', ends, 'session', ARGV[3])
  redis.call('HDEL', KEYS[1], 'done')
  -- What was committed is forgotten now, and what was given up is held again: neither was released.
  if s.done > 0 or s.last == token then redis.call('HDEL', KEYS[1], 'last') end
  seen_keep(ends)
  return {1, 0, math.floor((ends - now) / 1000)}, true
end)
