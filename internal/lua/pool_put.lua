-- Adds members to a pool, and replaces the meta of those that are there; all or none.
-- USES clock line pool pool_wake
-- KEYS order (sorted set, as the others see prelude_pool.lua); meta (hash); changes (sorted set); members (hash);
--      tokens (hash); state (hash); heads (sorted set); breakers (hash)
-- ARGV most (members that a pool may have); inboxes (what the names of the sidecars' channels begin with);
--      list (of at most 1,000 members: id and meta of each, each after its length and a colon)
-- RETURNS added (-1 = there would be more than the most: nothing was done); total
-- TTL order, meta, changes, members, state: none
-- COST O(list): HMGET twice, and HSET and ZADD of what is new
local list, ids, meta = pool_texts(ARGV[3], 1), {}, {}
for i = 1, #list, 2 do
  if not meta[list[i]] then ids[#ids + 1] = list[i] end
  meta[list[i]] = list[i + 1]
end
local st, old = redis.call('HMGET', MEMBERS, unpack(ids)), redis.call('HMGET', META, unpack(ids))
local total, added = redis.call('ZCARD', ORDER), 0
for i = 1, #ids do
  if not st[i] then added = added + 1 end
end
if added > 0 and total + added > tonumber(ARGV[1]) then return {-1, total} end
for i, id in ipairs(ids) do
  if not st[i] then
    local born = redis.call('HINCRBY', STATE, 'change', 1)
    redis.call('HSET', MEMBERS, id, pool_text({
      born = born, ends = 0, ban = 0, pause = 0, era = born, fence = 0, since = 0, prev = 0, failures = 0, slips = 0, probe = 0,
      generation = 0, token = '', last = '', session = '', client = '', instance = '', policy = '',
    }))
    redis.call('ZADD', ORDER, born, id)
    redis.call('ZADD', CHANGES, born, id)
  end
  if meta[id] == '' then
    if old[i] then redis.call('HDEL', META, id) end
  elseif meta[id] ~= old[i] then
    redis.call('HSET', META, id, meta[id])
  end
end
if added > 0 then
  -- It was to go with an empty pool.
  redis.call('PERSIST', STATE)
  pool_wake(ARGV[2])
end
return {added, total + added}
