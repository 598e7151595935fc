-- Messages that are not due: due (sorted set, serial by when (us) it is due) and delayed (hash, by serial the length that
-- its stream is to have, a colon and the message; its field '' is the last serial). Serials rise and have 16 digits each,
-- so that those due at one instant are added in the order in which they came.

-- stream_add adds a message to a stream, which then keeps about max_len of them, 0 = all. It returns its id.
local function stream_add(log, max_len, message)
  if max_len > 0 then return redis.call('XADD', log, 'MAXLEN', '~', max_len, '*', 'm', message) end
  return redis.call('XADD', log, '*', 'm', message)
end
