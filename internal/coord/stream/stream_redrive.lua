-- Moves dead letters to the end of their stream, each for the group that failed to process it: those of ids, or count of the
-- oldest.
-- USES stream_operate
-- KEYS log; dead; groups
-- ARGV ids; count
-- RETURNS redriven; left
-- TTL none
-- COST O(ids and count): XRANGE, XADD, XDEL
local redriven = 0
local function redrive(found)
  if not found then return end
  local d = by_field(found[2])
  redis.call('XADD', log_key, '*', 'm', d.m, 'g', d.group)
  redis.call('XDEL', dead_key, found[1])
  redriven = redriven + 1
end
for _, id in ipairs(ids) do redrive(redis.call('XRANGE', dead_key, id, id)[1]) end
for _ = 1, count do redrive(redis.call('XRANGE', dead_key, '-', '+', 'COUNT', 1)[1]) end
return {redriven = redriven, left = redis.call('XLEN', dead_key)}, redriven > 0
