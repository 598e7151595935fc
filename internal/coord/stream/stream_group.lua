-- Counts the messages of a group. lag, the number of those that were not delivered, is what Redis replies, if it knows it. Else
-- the script counts them, up to about 1,000 messages and 1 MiB: if there are more, lag is -1, and least is how many it counted.
-- USES clock stream_operate
-- KEYS log; dead; groups; retry; lanes; parked; laned
-- ARGV group
-- RETURNS found; lag; least; pending; retrying; parked; consumers; oldest_ms; last
-- TTL none is written
-- COST O(groups + consumers + 1000): XINFO, XPENDING, ZCARD twice, HLEN, XRANGE
local g
for _, one in ipairs(groups_of(log_key)) do
  if one.name == group then g = one end
end
if not g then return {} end
local last = g['last-delivered-id']

local function counted()
  local first = redis.call('XRANGE', log_key, '-', '+', 'COUNT', 1)[1]
  if not first then return 0, 0 end
  local ms, serial = id_parts(first[1])
  local last_ms, last_serial = id_parts(last)
  if last_ms < ms or last_ms == ms and last_serial < serial then
    local length = redis.call('XLEN', log_key)
    return length, length
  end
  local n, bytes, from = 0, 0, last
  repeat
    local page = redis.call('XRANGE', log_key, table.concat({'(', from}), '+', 'COUNT', 16)
    for _, m in ipairs(page) do
      n, from = n + 1, m[1]
      for _, text in ipairs(m[2]) do bytes = bytes + #text end
    end
    if #page < 16 then return n, n end
  until n >= 1000 or bytes >= 1048576
  return -1, n
end

-- The embedded store replies with the length of the stream as lag, and without entries-read.
local lag, least = g.lag, g.lag
if not (g['entries-read'] and g.lag) then lag, least = counted() end
local pending, oldest = pending_by_consumer(log_key, group)
local oldest_ms = 0
if pending > 0 then oldest_ms = math.max(math.floor(now / 1000) - id_parts(oldest), 0) end
-- Delivered messages stay parked. laned has a field for each of them, and one more for the name of the key's field.
local parked = math.max(redis.call('ZCARD', parked_key) - math.max(redis.call('HLEN', laned_key) - 1, 0), 0)
return {
  found = true, lag = lag, least = least, pending = pending, retrying = math.min(redis.call('ZCARD', retry_key), pending),
  parked = parked, consumers = g.consumers, oldest_ms = oldest_ms, last = last,
}
