-- Adds members to a pool, and replaces the meta of those that are there; all or none.
-- USES clock line pool pool_wake
-- KEYS order; meta; changes; members; tokens; state; heads; breakers
-- ARGV most; inboxes; list
-- RETURNS added; total
-- TTL order, meta, changes, members, state: none
-- COST O(list): HMGET twice, and HSET and ZADD of what is new
local ids, meta = {}, {}
for i = 1, #list, 2 do
  if not meta[list[i]] then ids[#ids + 1] = list[i] end
  meta[list[i]] = list[i + 1]
end
local texts, old = redis.call('HMGET', pool.members, unpack(ids)), redis.call('HMGET', pool.meta, unpack(ids))
local total, added = redis.call('ZCARD', pool.order), 0
for i = 1, #ids do
  if not texts[i] then added = added + 1 end
end
if added > 0 and total + added > most then return {added = -1, total = total} end
for i, id in ipairs(ids) do
  if not texts[i] then
    local born = redis.call('HINCRBY', pool.state, 'change', 1)
    redis.call('HSET', pool.members, id, pool_text({
      born = born, ends = 0, ban = 0, pause = 0, era = born, fence = 0, since = 0, prev = 0, failures = 0, slips = 0, probe = 0,
      generation = 0, token = '', last = '', session = '', client = '', instance = '', policy = '',
    }))
    redis.call('ZADD', pool.order, born, id)
    redis.call('ZADD', pool.changes, born, id)
  end
  if meta[id] == '' then
    if old[i] then redis.call('HDEL', pool.meta, id) end
  elseif meta[id] ~= old[i] then
    redis.call('HSET', pool.meta, id, meta[id])
  end
end
if added > 0 then
  -- pool_remove gave it a TTL if the pool was empty.
  redis.call('PERSIST', pool.state)
  pool_wake(pool, inboxes)
end
return {added = added, total = total + added}
