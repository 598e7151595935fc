-- Bans a member, or lifts its ban and forgets its failures and cooldowns.
-- USES clock line pool pool_wake
-- KEYS order (sorted set, as the others see prelude_pool.lua); meta (hash); changes (sorted set); members (hash);
--      tokens (hash); state (hash); heads (sorted set); breakers (hash)
-- ARGV member; ban (1 = it is banned from now on, 0 = no longer); for_ms (0 = without an end); inboxes (what the names of the
--      sidecars' channels begin with)
-- RETURNS found (1 = there is such a member); changed (1 = it was not so before)
-- TTL members, changes, state: none
-- COST O(lines): HGET, HSET, ZADD and PUBLISH for each line
local id, for_us = ARGV[1], tonumber(ARGV[3]) * 1000
local text = redis.call('HGET', MEMBERS, id)
if not text then return {0, 0} end
local m = pool_read(text)
local banned = m.ban < 0 or m.ban > now
if ARGV[2] == '1' then
  local before = m.ban
  -- Of two bans the longer one counts.
  if m.ban >= 0 then m.ban = for_us > 0 and math.max(m.ban, now + for_us) or -1 end
  if m.ban ~= before then redis.call('HSET', MEMBERS, id, pool_text(m)) end
  return {1, banned and 0 or 1}
end
pool_changed(id)
m.ban, m.failures, m.slips, m.era = 0, 0, 0, tonumber(redis.call('HGET', STATE, 'change'))
redis.call('HSET', MEMBERS, id, pool_text(m))
pool_wake(ARGV[4])
return {1, banned and 1 or 0}
