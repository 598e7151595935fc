-- The leases of a queue that their holders ended by an acknowledgement or a release, so that a call that is repeated after a lost reply
-- gets the same result. ended is a sorted set of a or r (acknowledged or released) followed by the lease, by when it ended (us). It has
-- the last 1,000, until 150 s after the last one, as long as stored replies are kept.

local function queue_ended_by(ended, how, lease)
  return redis.call('ZSCORE', ended, table.concat({how, lease}))
end

local function queue_ended_note(ended, how, lease)
  redis.call('ZADD', ended, now, table.concat({how, lease}))
  redis.call('ZREMRANGEBYRANK', ended, 0, -1001)
  redis.call('PEXPIRE', ended, 150000)
end
