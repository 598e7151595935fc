-- Returns the pace of a key, and who holds its permits.
-- USES clock pace
-- KEYS pace; leases; holders; line
-- ARGV most
-- RETURNS now_us; pause_us; why; penalty_us; level; next_us; held; waiting; items; then; kind; name; instance; us; ends_us
-- TTL none is written
-- COST O(sources + most): HMGET, HGETALL, ZCOUNT, ZRANGEBYSCORE, HMGET, ZCARD
local pace = pace_read(pace_key)
local f = redis.call('HMGET', pace_key, 'why', 'penalty', 'level')
local paused = pace.pause > now
local held, waiting = redis.call('ZCOUNT', leases_key, string.format('(%.0f', now), '+inf'), redis.call('ZCARD', line_key)
local items = {}
for _, w in ipairs((pace_delays(pace_key))) do
  items[#items + 1] = {kind = 'delay', name = string.sub(w.field, 3), us = w.delay, ends_us = w.ends}
end

-- lease_of parses the text of a holder that lib/leases.lua writes.
local function lease_of(holder, ends)
  local all, i = {}, 1
  for k = 1, 3 do
    local colon = string.find(holder, ':', i, true)
    local n = tonumber(string.sub(holder, i, colon - 1))
    all[k], i = string.sub(holder, colon + 1, colon + n), colon + n + 1
  end
  return {kind = 'lease', name = all[2], instance = all[3], us = tonumber(string.sub(holder, i)), ends_us = ends}
end

local ids = redis.call('ZRANGEBYSCORE', leases_key, string.format('(%.0f', now), '+inf', 'WITHSCORES', 'LIMIT', 0, most)
for i = 1, #ids, 2 do
  local holder = redis.call('HGET', holders_key, ids[i])
  if holder then items[#items + 1] = lease_of(holder, tonumber(ids[i + 1])) end
end
return {
  now_us = now, pause_us = paused and pace.pause, why = paused and f[1] or '', penalty_us = tonumber(f[2] or 0),
  level = tonumber(f[3] or 0), next_us = pace.next, held = held, waiting = waiting, items = items,
}
