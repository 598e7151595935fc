-- Counts the members of one page of a pool, each of them once.
-- USES clock pool pool_page
-- KEYS order (sorted set, as the others see prelude_pool.lua); meta (hash); changes (sorted set); members (hash);
--      tokens (hash); state (hash); heads (sorted set); breakers (hash); used (hash, of the scope);
--      line (sorted set, see prelude_line.lua)
-- ARGV after (cursor of the page, 0 = the first); count (of members, at most 500)
-- RETURNS cursor (of the next page, 0 = this was the last); live; cooling; banned; free; waiting (places in the line, of dead sidecars
--      too)
-- TTL none is written
-- COST O(count): ZRANGEBYSCORE, HMGET twice
local ids, st, used, cursor = pool_page(KEYS[9], tonumber(ARGV[1]), tonumber(ARGV[2]))
local live, cooling, banned = 0, 0, 0
for i = 1, #ids do
  local born, ends, ban, _, era = pool_times(st[i])
  local _, cool = pool_used(used[i], born, era)
  if ends > now then
    live = live + 1
  elseif ban < 0 or ban > now then
    banned = banned + 1
  elseif cool > now then
    cooling = cooling + 1
  end
end
return {cursor, live, cooling, banned, #ids - live - cooling - banned, redis.call('ZCARD', KEYS[10])}
