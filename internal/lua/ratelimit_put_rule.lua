-- Keeps a rule for every sidecar, in place of another one of its name.
-- USES clock
-- KEYS rules (hash: r:name = revision, space, text of a rule; d:name = revision at which it was deleted; revision = of the whole)
-- ARGV name (any bytes); text (any bytes but NUL); least (the lowest revision that is new to the caller, Unix ms);
--      most (how many fields the hash may have); channel (of the broadcast)
-- RETURNS revision (of the rule, Unix ms; 0 = there are too many); replaced (1 = there was another text)
-- TTL none: a rule is kept until it is deleted
-- COST O(1); O(rules) when there are too many
local live, gone = table.concat({'r:', ARGV[1]}), table.concat({'d:', ARGV[1]})
local f = redis.call('HMGET', KEYS[1], live, gone, 'revision')
local was, text = string.match(f[1] or '', '^(%d+) (.*)$')
if text == ARGV[2] then return {tonumber(was), 0} end
local forget = {}
if not f[1] and redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[4]) then
  for _, name in ipairs(redis.call('HKEYS', KEYS[1])) do
    if string.sub(name, 1, 2) == 'd:' then forget[#forget + 1] = name end
  end
  if #forget == 0 then return {0, 0} end
end
-- Where the text cannot be read, the revision of the whole is above its own.
local revision = math.max(tonumber(was or f[2] or f[3] or 0) + 1, math.floor(now / 1000), tonumber(ARGV[3]))
if #forget > 0 then redis.call('HDEL', KEYS[1], unpack(forget, 1, math.min(#forget, 1000))) end
redis.call('HDEL', KEYS[1], gone)
redis.call('HSET', KEYS[1], live, table.concat({string.format('%.0f', revision), ' ', ARGV[2]}),
  'revision', math.max(tonumber(f[3] or 0) + 1, revision))
redis.pcall('PUBLISH', ARGV[5], table.concat({'rules ', KEYS[1]}))
return {revision, was and 1 or 0}
