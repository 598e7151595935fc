-- Sets one source's word on how long it is from one admission of a key to the next. The slowest word counts.
-- USES clock gate
-- KEYS gate (hash, see prelude_gate.lua)
-- ARGV delay_us (0 = it has none); ttl_us (of the word); source (any bytes); most (words at once); channel (of the broadcast)
-- RETURNS delay_us (of the slowest word, 0 = there is none); until_us (when that word ends); now_us
-- TTL gate: until nothing of it matters, and 1 s
-- COST O(sources): HMGET, HGETALL, HSET, HDEL or DEL, PEXPIRE, PUBLISH
local delay, most = tonumber(ARGV[1]), tonumber(ARGV[4])
local mine = {field = table.concat({'s:', ARGV[3]}), delay = delay, ends = now + tonumber(ARGV[2])}
local g = gate(KEYS[1])
local live, dead = gate_words(KEYS[1])
if delay == 0 and g.ends == 0 then return {0, 0, now} end

-- The word that ends first makes room.
local others, slowest = {}, delay > 0 and mine or nil
for _, w in ipairs(live) do
  if w.field ~= mine.field then others[#others + 1] = w end
end
table.sort(others, function(a, b)
  if a.ends ~= b.ends then return a.ends > b.ends end
  return a.field < b.field
end)
for i, w in ipairs(others) do
  if delay > 0 and i >= most then
    dead[#dead + 1] = w.field
  elseif not slowest or w.delay > slowest.delay or w.delay == slowest.delay and w.ends > slowest.ends then
    slowest = w
  end
end

gate_slow(g, slowest)
g.dead = dead
if delay == 0 then
  dead[#dead + 1] = mine.field
else
  g.ends = math.max(g.ends, mine.ends)
end
if g.delay == 0 and g.pause <= now and redis.call('HEXISTS', KEYS[1], 'penalty') == 0 then
  redis.call('DEL', KEYS[1])
else
  gate_keep(KEYS[1], g)
  -- After the dead ones went, since it may take the place of one.
  if delay > 0 then redis.call('HSET', KEYS[1], mine.field, string.format('%.0f/%.0f', delay, mine.ends)) end
end
redis.pcall('PUBLISH', ARGV[5], table.concat({'delay ', KEYS[1]}))
return {g.delay, g.delay_ends, now}
