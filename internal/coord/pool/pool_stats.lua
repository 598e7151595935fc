-- Counts the members of one page of a pool, each of them in one state, and returns the holders of some.
-- USES clock breaker_shut unpacked pool pool_page pool_holders
-- KEYS order; meta; changes; members; tokens; state; heads; breakers; used; line
-- ARGV after; count; most
-- RETURNS cursor; live; cooling; banned; free; waiting; open; lines; holders; then; id; left_us; client; instance; since_ms
-- TTL none is written
-- COST O(count): ZRANGEBYSCORE, HMGET three times, ZCOUNT
local ids, texts, used, cursor = pool_page(pool, used_key, after, count)
local breakers = #ids > 0 and redis.call('HMGET', pool.breakers, unpack(ids)) or {}
local live, cooling, banned, open, held = 0, 0, 0, 0, {}
for i = 1, #ids do
  local born, ends, ban, _, era = pool_times(texts[i])
  local _, cool = pool_used(used[i], born, era)
  if ends > now then
    live = live + 1
    held[live] = {id = ids[i], ends = ends, text = texts[i]}
  elseif ban < 0 or ban > now then
    banned = banned + 1
  elseif cool > now then
    cooling = cooling + 1
  end
  if breakers[i] and breaker_shut(breakers[i]) then open = open + 1 end
end
return {
  cursor = cursor, live = live, cooling = cooling, banned = banned, free = #ids - live - cooling - banned,
  waiting = redis.call('ZCARD', line_key), open = open, lines = redis.call('ZCOUNT', pool.heads, now, '+inf'),
  holders = pool_holders(held, most),
}
