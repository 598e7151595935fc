-- Renews the lease of a member, and the probe of a permit, or has another session hold it; never revives one that ended.
-- USES clock breaker breaker_probe breaker_store pool pool_lease pool_probe
-- KEYS order (sorted set, as the others see prelude_pool.lua); meta (hash); changes (sorted set); members (hash);
--      tokens (hash); state (hash); heads (sorted set); breakers (hash)
-- ARGV token (of the lease); member (empty = which the token has); session (id, and never shortened; empty = any, and the
--      owner's own word, shorter or longer); lease_ms (from now); move (1 = whoever held it, session does now);
--      client (any bytes, of who it moves to); instance (any bytes)
-- RETURNS state (LockState in lock.go); id (the member); fence (of the lease, 0 when it is not the token's); lease_ms (left, down)
-- TTL members: none; breakers: see prelude_breaker_store.lua
-- COST O(probes): HGET, and when it is held HSET
local move = ARGV[5] == '1'
local id, m = pool_lease(ARGV[1], ARGV[2])
local found = pool_state(m, ARGV[1], move and '' or ARGV[3])
if found == 1 then
  local before, own = m.ends, ARGV[3] == '' and not move
  m.ends = math.max(own and 0 or m.ends, now + tonumber(ARGV[4]) * 1000)
  if m.ends < before then pool_changed(id) end
  if move then m.session, m.client, m.instance = ARGV[3], ARGV[6], ARGV[7] end
  pool_probe(id, m, own and breaker_keep or breaker_hold, m.ends - now)
  redis.call('HSET', MEMBERS, id, pool_text(m))
end
local held = found == 1 or found == 4
return {found, id, held and m.fence or 0, held and math.floor((m.ends - now) / 1000) or 0}
