-- Bans a member, or lifts its ban and forgets its failures and cooldowns.
-- USES clock line unpacked pool pool_wake
-- KEYS order; meta; changes; members; tokens; state; heads; breakers
-- ARGV member; ban; for_ms; inboxes
-- RETURNS found; changed
-- TTL members, changes, state: none
-- COST O(lines): HGET, HSET, ZADD and PUBLISH for each line
local text = redis.call('HGET', pool.members, member)
if not text then return {} end
local m = pool_read(text)
local banned = m.ban < 0 or m.ban > now
if ban then
  local before = m.ban
  -- Of two bans the longer one counts.
  if m.ban >= 0 then m.ban = for_ms > 0 and math.max(m.ban, now + for_ms * 1000) or -1 end
  if m.ban ~= before then redis.call('HSET', pool.members, member, pool_text(m)) end
  return {found = true, changed = not banned}
end
pool_changed(pool, member)
m.ban, m.failures, m.slips, m.era = 0, 0, 0, tonumber(redis.call('HGET', pool.state, 'change'))
redis.call('HSET', pool.members, member, pool_text(m))
pool_wake(pool, inboxes)
return {found = true, changed = banned}
