-- Removes a rule. It keeps the revision of the deletion, so that a later rule of the same name gets a higher one.
-- USES clock
-- KEYS rules
-- ARGV name; least; channel
-- RETURNS deleted
-- TTL none: see ratelimit_put_rule.lua
-- COST O(1)
local live, gone = table.concat({'r:', name}), table.concat({'d:', name})
local f = redis.call('HMGET', rules_key, live, 'revision')
if f[1] then
  local was = string.match(f[1], '^(%d+) ') or f[2] or 0
  local revision = math.max(tonumber(was) + 1, math.floor(now / 1000), least)
  redis.call('HDEL', rules_key, live)
  redis.call('HSET', rules_key, gone, revision, 'revision', math.max(tonumber(f[2] or 0) + 1, revision))
end
-- It publishes even if there was no rule, since the reply of an earlier run may have been lost.
redis.pcall('PUBLISH', channel, table.concat({'rules ', rules_key}))
return f[1] and true or false
