-- Renews the lease of a token, or binds it to another session; never revives one that has ended.
-- USES clock leases permits
-- KEYS leases; holders; weights; gone
-- ARGV token; ttl_ms; session; fence; move; client; instance
-- RETURNS state; fence; ttl_ms; final
-- TTL leases, holders, weights: as long as the last lease, and 150 s
-- COST O(log leases), 25 us: ZSCORE, HGET, GET, and when it is held ZADD, HSET and PEXPIRE
local mine = permits_of(semaphore, token)
-- A key of another type fails before anything is written.
redis.call('ZCARD', semaphore.weights)
if not mine or fence > 0 and mine.fence ~= fence then
  local last = tonumber(redis.call('GET', gone_key) or 0)
  return {state = last > 0 and (fence == 0 or last == fence) and 3 or 0}
end
local state = 1
if move then
  mine.session, mine.client, mine.instance = session, client, instance
elseif session ~= '' and mine.session ~= session then
  state = 2
end
-- Only the holder's own call, which names no session, may shorten the lease.
if state == 1 then permits_keep(semaphore, token, mine, ttl_ms, session == '' and ttl_ms > 0 and not move) end
return {state = state, fence = mine.fence, ttl_ms = permits_left_ms(mine), final = permits_final(mine)}
