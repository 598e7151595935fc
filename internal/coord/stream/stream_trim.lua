-- Deletes messages of a stream or dead letters: all but the newest max_len, or those that were added more than older_ms ago, or
-- those of ids.
-- USES clock
-- KEYS log; dead; groups
-- ARGV dead; max_len; older_ms; ids
-- RETURNS deleted; left
-- TTL none
-- COST O(deleted): XTRIM or XDEL
local key, deleted = dead and dead_key or log_key, 0
if #ids > 0 then
  deleted = redis.call('XDEL', key, unpack(ids))
elseif older_ms >= 0 then
  deleted = redis.call('XTRIM', key, 'MINID', string.format('%.0f', math.max(math.floor(now / 1000) - older_ms, 0)))
elseif max_len >= 0 then
  deleted = redis.call('XTRIM', key, 'MAXLEN', max_len)
end
return {deleted = deleted, left = redis.call('XLEN', key)}
