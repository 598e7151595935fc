-- Returns how many permits of a semaphore are held, how many calls wait, and the holders.
-- USES clock leases permits
-- KEYS leases; holders; weights; line
-- ARGV most
-- RETURNS held; waiting; more; holders; then; permits; fence; ttl_ms; client; instance; since_ms; meta
-- TTL none is written
-- COST O(different weights + ended leases + most log leases)
local waiting = redis.call('ZCARD', line_key)
redis.call('ZCARD', semaphore.weights)
redis.call('HLEN', semaphore.holders)
local held, more = permits_held(semaphore)
local holders = {}
for _, token in ipairs(redis.call('ZRANGEBYSCORE', semaphore.leases, now, '+inf', 'LIMIT', 0, most)) do
  local p = permits_of(semaphore, token)
  if p then
    p.ttl_ms, p.since_ms = permits_left_ms(p), math.floor(p.since / 1000)
    holders[#holders + 1] = p
  end
end
return {held = held, waiting = waiting, more = more, holders = holders}
