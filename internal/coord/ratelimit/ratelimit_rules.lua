-- Returns the rules that are kept for every sidecar, unless the caller has them.
-- USES
-- KEYS rules
-- ARGV known
-- RETURNS revision; fields; then; name; value
-- TTL none is written
-- COST O(1), or O(rules) when they changed
local revision = tonumber(redis.call('HGET', rules_key, 'revision') or 0)
if revision == known then return {revision = revision} end
local all, fields = redis.call('HGETALL', rules_key), {}
for i = 1, #all, 2 do fields[#fields + 1] = {name = all[i], value = all[i + 1]} end
return {revision = revision, fields = fields}
