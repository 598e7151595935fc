-- Puts new messages of a group into their lanes, up to 100 while the lanes have fewer than most, and returns the first messages
-- of lanes that are due. It does not return these to another caller for hold_ms, in which this caller asks their limits. A
-- message without a valid key is moved to the dead letters.
-- USES clock stream lane lane_leave message_key
-- KEYS log; dead; groups; retry; lanes; parked; laned
-- ARGV group; consumer; count; most; longest; hold_ms
-- RETURNS missing; dead; trimmed; more; full; next_ms; last; heads; then; lane; id
-- TTL none
-- COST O(groups + 100 log parked + count log parked): XINFO, XREADGROUP, and for each ZADD; ZRANGEBYSCORE, and for each ZRANGEBYLEX, ZADD
local g = group_find(log_key, group)
if not g then return {missing = true, heads = {}} end
-- Keys of another type make the script fail before anything is written.
redis.call('XLEN', dead_key)
redis.call('ZCARD', lanes_key)
local field = redis.call('HGET', laned_key, '') or ''
local out = {dead = 0, trimmed = 0, heads = {}, last = g['last-delivered-id']}

out.full = redis.call('ZCARD', parked_key) >= most
if not out.full then
  local read = redis.call('XREADGROUP', 'GROUP', group, consumer, 'COUNT', 100, 'NOACK', 'STREAMS', log_key, '>')
  read = read and read[1] and read[1][2] or {}
  for _, e in ipairs(read) do
    local id, m = e[1], {m = ''}
    for i = 1, #e[2], 2 do m[e[2][i]] = e[2][i + 1] end
    if not m.g or m.g == group then
      local lane = message_key(m.m, field)
      if not lane or lane == '' or #lane > longest or string.find(lane, '%z') then
        message_bury(log_key, dead_key, group, id, m, 0, table.concat({'its field ', field, ' is no key'}))
        out.dead = out.dead + 1
      else
        redis.call('ZADD', parked_key, 0, lane_member(lane, id, 0))
        redis.call('ZADD', lanes_key, 'NX', now, lane)
      end
    end
    out.last = id
  end
  out.more = #read == 100
end
if redis.call('HGET', groups_key, group) ~= out.last then redis.call('HSET', groups_key, group, out.last) end

for _, lane in ipairs(redis.call('ZRANGEBYSCORE', lanes_key, '-inf', now, 'LIMIT', 0, count)) do
  local id, _, member = lane_first(parked_key, lane)
  if id and redis.call('HEXISTS', laned_key, id) == 1 then
    if pending_find(log_key, group, id) then
      redis.call('ZADD', lanes_key, now + LANE_LOOK, lane)
      id = nil
    else
      lane_leave(lanes_key, parked_key, laned_key, lane, id)
      id, _, member = lane_first(parked_key, lane)
    end
  elseif not id then
    redis.call('ZREM', lanes_key, lane)
  end
  -- Skip messages that were deleted while they waited, up to 100 in one run.
  for _ = 1, 100 do
    if not id or #redis.call('XRANGE', log_key, id, id) > 0 then break end
    redis.call('ZREM', parked_key, member)
    redis.call('HINCRBY', groups_key, '', 1)
    out.trimmed = out.trimmed + 1
    id, _, member = lane_first(parked_key, lane)
    if not id then redis.call('ZREM', lanes_key, lane) end
  end
  if id then
    redis.call('ZADD', lanes_key, now + hold_ms * 1000, lane)
    out.heads[#out.heads + 1] = {lane = lane, id = id}
  end
end
local next = redis.call('ZRANGE', lanes_key, 0, 0, 'WITHSCORES')[2]
out.next_ms = next and math.max(math.ceil((tonumber(next) - now) / 1000), 0) or -1
return out
