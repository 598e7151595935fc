-- Removes members and their state from a pool. Their buckets, and what scopes store of them, end by their own TTL. If a member is added
-- again, its bucket still counts, but not what scopes store of it.
-- USES clock pool
-- KEYS order; meta; changes; members; tokens; state; heads; breakers
-- ARGV ids
-- RETURNS removed; total
-- TTL state: none, but 8 days once there are no members: as long as anything may follow its changes
-- COST O(ids): HMGET, ZREM and HDEL
local gone, tokens = {}, {}
local texts = redis.call('HMGET', pool.members, unpack(ids))
for i, id in ipairs(ids) do
  if texts[i] then
    gone[#gone + 1] = id
    local token = pool_read(texts[i]).token
    if token ~= '' and redis.call('HGET', pool.tokens, token) == id then tokens[#tokens + 1] = token end
  end
end
if #gone == 0 then return {total = redis.call('ZCARD', pool.order)} end
local removed = redis.call('ZREM', pool.order, unpack(gone))
redis.call('ZREM', pool.changes, unpack(gone))
redis.call('HDEL', pool.meta, unpack(gone))
redis.call('HDEL', pool.members, unpack(gone))
redis.call('HDEL', pool.breakers, unpack(gone))
if #tokens > 0 then redis.call('HDEL', pool.tokens, unpack(tokens)) end
local total = redis.call('ZCARD', pool.order)
if total == 0 then redis.call('PEXPIRE', pool.state, 691200000) end
return {removed = removed, total = total}
