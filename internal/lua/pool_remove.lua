-- Removes members from a pool and forgets their state. What their buckets and scopes have of them goes with its own TTL, and
-- does not count for one that comes back, but for the buckets.
-- USES clock pool
-- KEYS order (sorted set, as the others see prelude_pool.lua); meta (hash); changes (sorted set); members (hash);
--      tokens (hash); state (hash); heads (sorted set); breakers (hash)
-- ARGV ids (of at most 500 members, each after its length and a colon)
-- RETURNS removed; total (that are left)
-- TTL state: none, but 8 days once there are no members: as long as anything may follow its changes
-- COST O(ids): HMGET, ZREM and HDEL
local ids, gone, tokens = pool_texts(ARGV[1], 1), {}, {}
local st = redis.call('HMGET', MEMBERS, unpack(ids))
for i, id in ipairs(ids) do
  if st[i] then
    gone[#gone + 1] = id
    local token = pool_read(st[i]).token
    if token ~= '' and redis.call('HGET', TOKENS, token) == id then tokens[#tokens + 1] = token end
  end
end
if #gone == 0 then return {0, redis.call('ZCARD', ORDER)} end
local removed = redis.call('ZREM', ORDER, unpack(gone))
redis.call('ZREM', CHANGES, unpack(gone))
redis.call('HDEL', META, unpack(gone))
redis.call('HDEL', MEMBERS, unpack(gone))
redis.call('HDEL', BREAKERS, unpack(gone))
if #tokens > 0 then redis.call('HDEL', TOKENS, unpack(tokens)) end
local total = redis.call('ZCARD', ORDER)
if total == 0 then redis.call('PEXPIRE', STATE, 691200000) end
return {removed, total}
