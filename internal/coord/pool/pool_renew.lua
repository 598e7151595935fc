-- Renews the lease of a member, and the probe of a permit, or binds it to another session; never revives one that has ended.
-- USES clock breaker breaker_probe breaker_store unpacked pool pool_lease pool_probe
-- KEYS order; meta; changes; members; tokens; state; heads; breakers
-- ARGV token; member; session; lease_ms; move; client; instance
-- RETURNS state; id; fence; lease_ms
-- TTL members: none; breakers: see lib/breaker_store.lua
-- COST O(probes), 33 us: HGET, and when it is held HSET
local id, m = pool_lease(pool, token, member)
local state = pool_state(m, token, move and '' or session)
if state == 1 then
  local before, own = m.ends, session == '' and not move
  m.ends = math.max(own and 0 or m.ends, now + lease_ms * 1000)
  if m.ends < before then pool_changed(pool, id) end
  if move then m.session, m.client, m.instance = session, client, instance end
  pool_probe(pool, id, m, own and breaker_keep or breaker_hold, m.ends - now)
  redis.call('HSET', pool.members, id, pool_text(m))
end
if state ~= 1 and state ~= 4 then return {state = state, id = id} end
return {state = state, id = id, fence = m.fence, lease_ms = math.floor((m.ends - now) / 1000)}
