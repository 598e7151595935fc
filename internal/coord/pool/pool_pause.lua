-- Pauses the permits of a member until an instant, or ends their pause. Of several pauses the longest counts.
-- USES clock line unpacked pool pool_wake
-- KEYS order; meta; changes; members; tokens; state; heads; breakers
-- ARGV member; for_us; until_us; longest_us; resume; inboxes
-- RETURNS found; until_us; changed; now_us
-- TTL members, changes, state: none
-- COST O(lines): HGET, HSET, and at its end ZADD and PUBLISH for each line
local text = redis.call('HGET', pool.members, member)
if not text then return {now_us = now} end
local m = pool_read(text)
local was, till = m.pause, for_us > 0 and now + for_us or until_us
if resume then
  m.pause = 0
else
  if till > now + longest_us then return {found = true, until_us = -1, now_us = now} end
  if till > now and till > was then m.pause = till end
end
local changed = m.pause ~= was and math.max(m.pause, was) > now
if changed then redis.call('HSET', pool.members, member, pool_text(m)) end
if changed and m.pause == 0 then
  pool_changed(pool, member)
  pool_wake(pool, inboxes)
end
return {found = true, until_us = m.pause > now and m.pause or 0, changed = changed, now_us = now}
