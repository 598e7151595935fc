-- Ends what is over by time in a queue: leases, and entries that nobody took. A script uses queue before this part. The counts are
-- queue.returned and queue.expired.

-- queue_tidy ends leases and entries, together at most the number most, and returns whether there may be more.
local function queue_tidy(queue, most)
  local ended = redis.call('ZRANGEBYSCORE', queue.leased, '-inf', now, 'WITHSCORES', 'LIMIT', 0, most)
  for i = 1, #ended, 2 do
    local e = entry_read(queue, redis.call('HGET', queue.holders, ended[i]) or '')
    if e and e.lease == ended[i] then
      entry_return(queue, e, tonumber(ended[i + 1]))
    else
      redis.call('ZREM', queue.leased, ended[i])
      redis.call('HDEL', queue.holders, ended[i])
    end
  end
  local left = most - #ended / 2
  if left <= 0 then return true end
  local dead = redis.call('ZRANGEBYSCORE', queue.expiry, '-inf', now, 'LIMIT', 0, left)
  entries_drop(queue, dead)
  queue.expired = queue.expired + #dead
  return #dead == left
end

-- entry_find returns an entry, and when (us) its lease ends if it has one. First it ends the entry or its lease if its time is over.
local function entry_find(queue, id)
  local e = entry_read(queue, id)
  if not e then return nil end
  if e.since > 0 then
    local ends = tonumber(redis.call('ZSCORE', queue.leased, e.lease) or 0)
    if ends > now then return e, ends end
    entry_return(queue, e, ends)
  end
  if e.ends > now then return e end
  entries_drop(queue, {id})
  queue.expired = queue.expired + 1
  return nil
end
