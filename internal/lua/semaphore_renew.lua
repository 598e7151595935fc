-- Renews the permits of a token, or has another session hold them; never revives what has ended.
-- USES clock leases permits
-- KEYS leases (sorted set, see prelude_leases.lua); holders (hash); weights (sorted set, see prelude_permits.lua);
--      gone (string: the fence of what the token gave back)
-- ARGV token (the owner's secret); ttl_ms (from now; 0 = as it is); session (id, and never shortened; empty = any, and
--      unless it moves the owner's own word, shorter or longer); fence (of the grant, 0 = any);
--      move (1 = whoever held it, session does now); client (any bytes, of who it moves to); instance
-- RETURNS state (SemaphoreState in semaphore.go); fence (the token's, 0 when it holds nothing); ttl_ms (left, down);
--      final (1 = no renewal extends it any more)
-- TTL leases, holders, weights: as long as the last lease, and 150 s
-- COST O(log leases): ZSCORE, HGET, GET, and when it is held ZADD, HSET and PEXPIRE
local token, session, fence, move = ARGV[1], ARGV[3], tonumber(ARGV[4]), ARGV[5] == '1'
local mine = permits_of(token)
-- A key of another type fails before anything is written.
redis.call('ZCARD', weights)
if not mine or fence > 0 and mine.fence ~= fence then
  local last = tonumber(redis.call('GET', KEYS[4]) or 0)
  return {last > 0 and (fence == 0 or last == fence) and 3 or 0, 0, 0, 0}
end
if move then
  mine.session, mine.client, mine.instance = session, ARGV[6], ARGV[7]
elseif session ~= '' and mine.session ~= session then
  return {2, mine.fence, permits_left(mine)}
end
local ttl_ms = tonumber(ARGV[2])
permits_keep(token, mine, ttl_ms, session == '' and ttl_ms > 0 and not move)
return {1, mine.fence, permits_left(mine)}
