-- Holds up permits of a member until an instant, or no longer. Of several pauses the longest counts.
-- USES clock line pool pool_wake
-- KEYS order (sorted set, as the others see prelude_pool.lua); meta (hash); changes (sorted set); members (hash);
--      tokens (hash); state (hash); heads (sorted set); breakers (hash)
-- ARGV member; for_us (from now; 0 = until_us says); until_us; longest_us (how far away it may end); resume (1 = the pause there is
--      ends now); inboxes (what the names of the sidecars' channels begin with)
-- RETURNS found (1 = there is such a member); until_us (when the longest ends, 0 = none is in force, -1 = too far away: nothing was
--      done); changed (1 = it is this one, or there was one to end); now_us
-- TTL members, changes, state: none
-- COST O(lines): HGET, HSET, and at its end ZADD and PUBLISH for each line
local id, from_now, till = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local text = redis.call('HGET', MEMBERS, id)
if not text then return {0, 0, 0, now} end
local m = pool_read(text)
local was = m.pause
if ARGV[5] == '1' then
  m.pause = 0
else
  if from_now > 0 then till = now + from_now end
  if till > now + tonumber(ARGV[4]) then return {1, -1, 0, now} end
  if till > now and till > was then m.pause = till end
end
local changed = m.pause ~= was and math.max(m.pause, was) > now
if changed then redis.call('HSET', MEMBERS, id, pool_text(m)) end
if changed and m.pause == 0 then
  pool_changed(id)
  pool_wake(ARGV[6])
end
return {1, m.pause > now and m.pause or 0, changed and 1 or 0, now}
