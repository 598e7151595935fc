-- queue_lease_find returns the entry that a lease holds now, and when (us) the lease ends; nil if it holds none.
local function queue_lease_find(queue, lease)
  local ends = tonumber(redis.call('ZSCORE', queue.leased, lease) or 0)
  local e = ends > now and entry_read(queue, redis.call('HGET', queue.holders, lease) or '')
  if e and e.lease == lease then return e, ends end
  return nil
end
