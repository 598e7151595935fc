-- Records that a sidecar is alive. Returns the first waiter of the line, and which of the given waiters have no ticket.
-- USES clock line
-- KEYS line; heartbeats
-- ARGV sidecar; heartbeat_ms; waiters; gone
-- RETURNS head; head_ms; missing
-- TTL line, heartbeats: heartbeat_ms and 60 s
-- COST O(waiters + dead): ZADD, ZRANGE, ZSCORE each, ZREMRANGEBYSCORE, PEXPIRE
-- This comes first: otherwise line_head would remove the sidecar's own waiters when its heartbeat is late.
line_heartbeat(line_key, heartbeats_key, sidecar, heartbeat_ms)
if gone ~= '' then redis.call('ZREM', line_key, gone) end
local head, till = line_head(line_key, heartbeats_key)
redis.call('ZREMRANGEBYSCORE', heartbeats_key, '-inf', now)
local missing = {}
for waiter in string.gmatch(waiters, '%S+') do
  if not redis.call('ZSCORE', line_key, waiter) then missing[#missing + 1] = waiter end
end
return {head = head, head_ms = math.max(math.ceil((till - now) / 1000), 0), missing = table.concat(missing, ' ')}
