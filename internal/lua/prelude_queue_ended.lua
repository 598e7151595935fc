-- The leases of a queue that ended by their holder's word, so that one who repeats it, since the answer was lost,
-- hears the same: a sorted set of a or r (acknowledged or released) and the lease, by when (us). The last 1,000 are
-- remembered, for 150 s since the last one, as long as replies are by once.

local function ended_by(how, lease)
  return redis.call('ZSCORE', KEYS[7], table.concat({how, lease}))
end

local function ended_note(how, lease)
  redis.call('ZADD', KEYS[7], now, table.concat({how, lease}))
  redis.call('ZREMRANGEBYRANK', KEYS[7], 0, -1001)
  redis.call('PEXPIRE', KEYS[7], 150000)
end

-- lease_find is the entry that a lease has now, and when (us) it ends.
local function lease_find(lease)
  local ends = tonumber(redis.call('ZSCORE', LEASED, lease) or 0)
  local e = ends > now and entry_read(redis.call('HGET', HOLDERS, lease) or '')
  if e and e.lease == lease then return e, ends end
  return nil
end
