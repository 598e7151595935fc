-- lease_find is the entry that a lease has now, and when (us) it ends.
local function lease_find(lease)
  local ends = tonumber(redis.call('ZSCORE', LEASED, lease) or 0)
  local e = ends > now and entry_read(redis.call('HGET', HOLDERS, lease) or '')
  if e and e.lease == lease then return e, ends end
  return nil
end
