-- Reads one page of a pool's members and their states, in the order in which they came.
-- USES clock breaker pool pool_page
-- KEYS order (sorted set, as the others see prelude_pool.lua); meta (hash); changes (sorted set); members (hash);
--      tokens (hash); state (hash); heads (sorted set); breakers (hash); used (hash, of the scope)
-- ARGV after (cursor of the page, 0 = the first); count (of members, at most 250)
-- RETURNS now_us; cursor (of the next page, 0 = this was the last); members (how many follow); then (for each); id; meta;
--      lease_us (until, 0 = it is not leased); since_us; client; instance; cool_us (until, 0 = it does not); ban_us (until, -1 =
--      without an end, 0 = it is not); failures; last_us (in the scope, 0 = never); pause_us (until, 0 = none); breaker (its state,
--      empty = it has none)
-- TTL none is written
-- COST O(count): ZRANGEBYSCORE, HMGET four times
local ids, st, used, cursor = pool_page(KEYS[9], tonumber(ARGV[1]), tonumber(ARGV[2]))
local out = {now, cursor, #ids}
if #ids == 0 then return out end
local meta, breakers = redis.call('HMGET', META, unpack(ids)), redis.call('HMGET', BREAKERS, unpack(ids))
for i, id in ipairs(ids) do
  local m = pool_read(st[i])
  local last, cool = pool_used(used[i], m.born, m.era)
  local held, banned = m.ends > now, m.ban < 0 or m.ban > now
  for _, v in ipairs({
    id, meta[i] or '', held and m.ends or 0, held and m.since or 0, held and m.client or '', held and m.instance or '',
    cool > now and cool or 0, banned and m.ban or 0, m.failures + m.slips, last, m.pause > now and m.pause or 0,
    breakers[i] and breaker_state(breaker_read(breakers[i])) or '',
  }) do out[#out + 1] = v end
end
return out
