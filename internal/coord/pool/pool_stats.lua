-- Counts the members of one page of a pool, each of them once.
-- USES clock pool pool_page
-- KEYS order; meta; changes; members; tokens; state; heads; breakers; used; line
-- ARGV after; count
-- RETURNS cursor; live; cooling; banned; free; waiting
-- TTL none is written
-- COST O(count): ZRANGEBYSCORE, HMGET twice
local ids, texts, used, cursor = pool_page(pool, used_key, after, count)
local live, cooling, banned = 0, 0, 0
for i = 1, #ids do
  local born, ends, ban, _, era = pool_times(texts[i])
  local _, cool = pool_used(used[i], born, era)
  if ends > now then
    live = live + 1
  elseif ban < 0 or ban > now then
    banned = banned + 1
  elseif cool > now then
    cooling = cooling + 1
  end
end
return {
  cursor = cursor, live = live, cooling = cooling, banned = banned, free = #ids - live - cooling - banned,
  waiting = redis.call('ZCARD', line_key),
}
