-- Reads one page of a pool's members and their states, in the order in which they were added.
-- USES clock breaker unpacked pool pool_page
-- KEYS order; meta; changes; members; tokens; state; heads; breakers; used
-- ARGV after; count
-- RETURNS now_us; cursor; members; then; id; meta; lease_us; since_us; client; instance; cool_us; ban_us; failures; last_us;
--      pause_us; breaker
-- TTL none is written
-- COST O(count): ZRANGEBYSCORE, HMGET four times
local ids, texts, used, cursor = pool_page(pool, used_key, after, count)
if #ids == 0 then return {now_us = now, cursor = cursor} end
local meta, breakers = redis.call('HMGET', pool.meta, unpack(ids)), redis.call('HMGET', pool.breakers, unpack(ids))
local members = {}
for i, id in ipairs(ids) do
  local m = pool_read(texts[i])
  local last, cool = pool_used(used[i], m.born, m.era)
  local held, banned = m.ends > now, m.ban < 0 or m.ban > now
  members[i] = {
    id = id, meta = meta[i], lease_us = held and m.ends, since_us = held and m.since, client = held and m.client,
    instance = held and m.instance, cool_us = cool > now and cool, ban_us = banned and m.ban, failures = m.failures + m.slips,
    last_us = last, pause_us = m.pause > now and m.pause, breaker = breakers[i] and breaker_state(breaker_read(breakers[i])),
  }
end
return {now_us = now, cursor = cursor, members = members}
