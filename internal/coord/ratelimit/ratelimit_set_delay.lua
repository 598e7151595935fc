-- Sets one source's word on how long it is from one admission of a key to the next. The slowest word counts.
-- USES clock gate
-- KEYS gate
-- ARGV delay_us; ttl_us; source; most; channel
-- RETURNS delay_us; until_us; now_us
-- TTL gate: until nothing of it matters, and 1 s
-- COST O(sources): HMGET, HGETALL, HSET, HDEL or DEL, PEXPIRE, PUBLISH
local mine = {field = table.concat({'s:', source}), delay = delay_us, ends = now + ttl_us}
local g = gate_read(gate_key)
local live, dead = gate_words(gate_key)
if delay_us == 0 and g.ends == 0 then return {now_us = now} end

-- The word that ends first makes room.
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

gate_slow(g, slowest)
g.dead = dead
if delay_us == 0 then
  dead[#dead + 1] = mine.field
else
  g.ends = math.max(g.ends, mine.ends)
end
if g.delay == 0 and g.pause <= now and redis.call('HEXISTS', gate_key, 'penalty') == 0 then
  redis.call('DEL', gate_key)
else
  gate_keep(gate_key, g)
  -- After the dead ones went, since it may take the place of one.
  if delay_us > 0 then redis.call('HSET', gate_key, mine.field, string.format('%.0f/%.0f', delay_us, mine.ends)) end
end
redis.pcall('PUBLISH', channel, table.concat({'delay ', gate_key}))
return {delay_us = g.delay, until_us = g.delay_ends, now_us = now}
