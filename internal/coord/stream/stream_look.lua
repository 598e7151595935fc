-- Counts the messages of a stream, and lists the names of its groups.
-- USES stream_operate
-- KEYS log; dead; groups; due
-- ARGV
-- RETURNS log; length; delayed; dead; trimmed; names; then; text
-- TTL none is written
-- COST O(groups): XLEN, ZCARD, HGET, XINFO
local names = {}
for i, g in ipairs(groups_of(log_key)) do names[i] = g.name end
return {
  log = redis.call('EXISTS', log_key) == 1, length = redis.call('XLEN', log_key),
  delayed = redis.call('ZCARD', due_key), dead = redis.call('XLEN', dead_key),
  trimmed = tonumber(redis.call('HGET', groups_key, '') or 0), names = names,
}
