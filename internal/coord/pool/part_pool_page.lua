-- Pages of a pool's members, in the order in which they were added.

-- pool_page reads at most count members after a cursor: their ids, their texts, what the scope stores of them (see pool_used), and the
-- cursor of the next page, 0 if this is the last.
local function pool_page(pool, used, after, count)
  local list = redis.call('ZRANGEBYSCORE', pool.order, string.format('(%.0f', after), '+inf', 'WITHSCORES', 'LIMIT', 0, count)
  local ids = {}
  for i = 1, #list, 2 do ids[#ids + 1] = list[i] end
  if #ids == 0 then return ids, {}, {}, 0 end
  local cursor = #ids == count and tonumber(list[#list]) or 0
  return ids, redis.call('HMGET', pool.members, unpack(ids)), redis.call('HMGET', used, unpack(ids)), cursor
end
