-- Tells how many permits of a semaphore are held, and by whom.
-- USES clock leases permits
-- KEYS leases (sorted set, see prelude_leases.lua); holders (hash); weights (sorted set, see prelude_permits.lua);
--      line (sorted set, see prelude_line.lua)
-- ARGV
-- RETURNS held (permits); waiting (places in the line, of dead sidecars too); more (1 = leases that have ended are counted
--      still: ask again at once); holders (how many follow, at most 100, by when they end); then (for each); permits; fence;
--      ttl_ms (left, down); client; instance; since_ms; meta
-- TTL none is written
-- COST O(different weights + ended leases + 100 log leases)
local waiting = redis.call('ZCARD', KEYS[4])
redis.call('ZCARD', weights)
redis.call('HLEN', holders)
local held, more = permits_held()
local reply = {held, waiting, more and 1 or 0, 0}
for _, token in ipairs(redis.call('ZRANGEBYSCORE', leases, now, '+inf', 'LIMIT', 0, 100)) do
  local p = permits_of(token)
  if p then
    reply[4] = reply[4] + 1
    for _, v in ipairs({p.permits, p.fence, (permits_left(p)), p.client, p.instance, math.floor(p.since / 1000), p.meta}) do
      reply[#reply + 1] = v
    end
  end
end
return reply
