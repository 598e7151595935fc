-- Removes a rule. At which revision is kept, so that another one of its name comes after it.
-- USES clock
-- KEYS rules (hash, see ratelimit_put_rule.lua)
-- ARGV name (any bytes); least (the lowest revision that is new to the caller, Unix ms); channel (of the broadcast)
-- RETURNS deleted (1 = there was one)
-- TTL none: see ratelimit_put_rule.lua
-- COST O(1)
local live, gone = table.concat({'r:', ARGV[1]}), table.concat({'d:', ARGV[1]})
local f = redis.call('HMGET', KEYS[1], live, 'revision')
if f[1] then
  local was = string.match(f[1], '^(%d+) ') or f[2] or 0
  local revision = math.max(tonumber(was) + 1, math.floor(now / 1000), tonumber(ARGV[2]))
  redis.call('HDEL', KEYS[1], live)
  redis.call('HSET', KEYS[1], gone, revision, 'revision', math.max(tonumber(f[2] or 0) + 1, revision))
end
-- Also when there was none: the reply of an earlier run may have been lost.
redis.pcall('PUBLISH', ARGV[3], table.concat({'rules ', KEYS[1]}))
return {f[1] and 1 or 0}
