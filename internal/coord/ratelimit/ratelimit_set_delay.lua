-- Sets the delay that one source asks for from one admission of a key to the next. The slowest source counts.
-- USES clock pace
-- KEYS pace
-- ARGV delay_us; ttl_us; source; most; channel
-- RETURNS delay_us; until_us; now_us
-- TTL pace: until nothing in it has an effect, and 1 s
-- COST O(sources): HMGET, HGETALL, HSET, HDEL or DEL, PEXPIRE, PUBLISH
local mine = {field = table.concat({'s:', source}), delay = delay_us, ends = now + ttl_us}
local pace = pace_read(pace_key)
local live, dead = pace_delays(pace_key)
if delay_us == 0 and pace.ends == 0 then return {now_us = now} end

-- If there are more than most sources, those whose delays end first are dropped.
local others, slowest = {}, delay_us > 0 and mine or nil
for _, w in ipairs(live) do
  if w.field ~= mine.field then others[#others + 1] = w end
end
table.sort(others, function(a, b)
  if a.ends ~= b.ends then return a.ends > b.ends end
  return a.field < b.field
end)
for i, w in ipairs(others) do
  if delay_us > 0 and i >= most then
    dead[#dead + 1] = w.field
  elseif not slowest or w.delay > slowest.delay or w.delay == slowest.delay and w.ends > slowest.ends then
    slowest = w
  end
end

pace_set_delay(pace, slowest)
pace.dead = dead
if delay_us == 0 then
  dead[#dead + 1] = mine.field
else
  pace.ends = math.max(pace.ends, mine.ends)
end
if pace.delay == 0 and pace.pause <= now and redis.call('HEXISTS', pace_key, 'penalty') == 0 then
  redis.call('DEL', pace_key)
else
  pace_write(pace_key, pace)
  -- Written after pace_write has removed the ended ones, since this source may be among them.
  if delay_us > 0 then redis.call('HSET', pace_key, mine.field, string.format('%.0f/%.0f', delay_us, mine.ends)) end
end
redis.pcall('PUBLISH', channel, table.concat({'delay ', pace_key}))
return {delay_us = pace.delay, until_us = pace.delay_ends, now_us = now}
