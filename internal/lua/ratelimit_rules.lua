-- Tells the rules that are kept for every sidecar, unless the caller has them.
-- USES
-- KEYS rules (hash, see ratelimit_put_rule.lua)
-- ARGV known (revision of the whole that the caller has; -1 = none)
-- RETURNS revision (of the whole; 0 = there never was a rule); fields (how many follow); then (for each); name; value
-- TTL none is written
-- COST O(1), or O(rules) when they changed
local revision = tonumber(redis.call('HGET', KEYS[1], 'revision') or 0)
local reply = {revision, 0}
if revision == tonumber(ARGV[1]) then return reply end
local all = redis.call('HGETALL', KEYS[1])
reply[2] = #all / 2
for i = 1, #all do reply[i + 2] = all[i] end
return reply
