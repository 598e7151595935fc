-- The keys of messages that are not due:
--   due: sorted set of serials by the time (us) at which the message is due.
--   delayed: hash, by serial, of max_len, a colon and the message. The field '' counts serials.
-- Serials rise and have 16 digits, so that messages that are due at the same time are added in the order of their publishing.

-- stream_add adds a message to a stream, trims the stream to about max_len messages (0 = not), and returns the id.
local function stream_add(log, max_len, message)
  if max_len > 0 then return redis.call('XADD', log, 'MAXLEN', '~', max_len, '*', 'm', message) end
  return redis.call('XADD', log, '*', 'm', message)
end
