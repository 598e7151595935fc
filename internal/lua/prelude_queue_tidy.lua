-- What has ended in a queue by itself: leases, and entries that nobody took in time. It needs prelude_queue.lua.

-- queue_tidy deals with at most so many of both, and says whether there may be more.
local function queue_tidy(most)
  local ended = redis.call('ZRANGEBYSCORE', LEASED, '-inf', now, 'WITHSCORES', 'LIMIT', 0, most)
  for i = 1, #ended, 2 do
    local e = entry_read(redis.call('HGET', HOLDERS, ended[i]) or '')
    if e and e.lease == ended[i] then
      entry_return(e, tonumber(ended[i + 1]))
    else
      redis.call('ZREM', LEASED, ended[i])
      redis.call('HDEL', HOLDERS, ended[i])
    end
  end
  local left = most - #ended / 2
  if left <= 0 then return true end
  local dead = redis.call('ZRANGEBYSCORE', EXPIRY, '-inf', now, 'LIMIT', 0, left)
  entries_drop(dead)
  expired = expired + #dead
  return #dead == left
end

-- entry_find is an entry as it is now, and when (us) its lease ends, if it has one.
local function entry_find(id)
  local e = entry_read(id)
  if not e then return nil end
  if e.since > 0 then
    local ends = tonumber(redis.call('ZSCORE', LEASED, e.lease) or 0)
    if ends > now then return e, ends end
    entry_return(e, ends)
  end
  if e.ends > now then return e end
  entries_drop({id})
  expired = expired + 1
  return nil
end
