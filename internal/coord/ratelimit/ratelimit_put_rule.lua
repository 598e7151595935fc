-- Keeps a rule for every sidecar, and replaces one of the same name.
-- USES clock
-- KEYS rules
-- ARGV name; text; least; most; channel
-- RETURNS revision; replaced
-- TTL none: a rule is kept until it is deleted
-- COST O(1); O(rules) when there are too many
-- The hash has r:<name> = revision, a space and the text of a rule; d:<name> = the revision at which it was deleted; and
-- revision, that of the whole.
local live, gone = table.concat({'r:', name}), table.concat({'d:', name})
local f = redis.call('HMGET', rules_key, live, gone, 'revision')
local was, kept = string.match(f[1] or '', '^(%d+) (.*)$')
if kept == text then return {revision = tonumber(was)} end
local forget = {}
if not f[1] and redis.call('HLEN', rules_key) >= most then
  for _, field in ipairs(redis.call('HKEYS', rules_key)) do
    if string.sub(field, 1, 2) == 'd:' then forget[#forget + 1] = field end
  end
  if #forget == 0 then return {} end
end
-- If the text cannot be parsed, the revision of all rules is used, which is not below the rule's own.
local revision = math.max(tonumber(was or f[2] or f[3] or 0) + 1, math.floor(now / 1000), least)
if #forget > 0 then redis.call('HDEL', rules_key, unpack(forget, 1, math.min(#forget, 1000))) end
redis.call('HDEL', rules_key, gone)
redis.call('HSET', rules_key, live, table.concat({string.format('%.0f', revision), ' ', text}),
  'revision', math.max(tonumber(f[3] or 0) + 1, revision))
redis.pcall('PUBLISH', channel, table.concat({'rules ', rules_key}))
return {revision = revision, replaced = not not was}
