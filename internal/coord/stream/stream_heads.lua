-- Finds the first messages of lanes that are open, and keeps them for the caller for hold_ms.
-- USES clock stream stream_lane
-- KEYS log; dead; groups; lanes; parked; laned
-- ARGV group; count; hold_ms
-- RETURNS trimmed; next_ms; heads; then; lane; id; attempt; message; only
-- TTL none
-- COST O(count log parked + messages deleted): ZRANGEBYSCORE, and for each ZRANGEBYLEX, XRANGE, ZADD or ZREM
-- Those of another type fail before anything is written.
redis.call('ZCARD', parked_key)
redis.call('XLEN', log_key)
local out, looked = {trimmed = 0, heads = {}}, 0
for _, lane in ipairs(redis.call('ZRANGEBYSCORE', lanes_key, '-inf', now, 'LIMIT', 0, count)) do
  local id, attempts, member = lane_first(parked_key, lane)
  local m = id and message_find(log_key, id)
  while id and not m and looked < 1000 do
    redis.call('ZREM', parked_key, member)
    redis.call('HINCRBY', groups_key, '', 1)
    out.trimmed, looked = out.trimmed + 1, looked + 1
    id, attempts, member = lane_first(parked_key, lane)
    m = id and message_find(log_key, id)
  end
  if m then
    redis.call('ZADD', lanes_key, now + hold_ms * 1000, lane)
    out.heads[#out.heads + 1] = {lane = lane, id = id, attempt = attempts + 1, message = m.m, only = m.g or ''}
  elseif not id then
    redis.call('ZREM', lanes_key, lane)
  end
end
local next = redis.call('ZRANGE', lanes_key, 0, 0, 'WITHSCORES')[2]
local at = next and tonumber(next)
out.next_ms = at and at < LANE_BUSY and math.max(math.ceil((at - now) / 1000), 0) or -1
return out
