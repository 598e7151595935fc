-- Returns the text with which all sidecars seal grants. If there is none, it keeps the one that is offered.
-- USES
-- KEYS seal
-- ARGV offered
-- RETURNS seal
-- TTL none: a grant is read by sidecars that start after those that wrote it
-- COST O(1): GET, and the first time SET
local seal = redis.call('GET', seal_key)
if seal then return seal end
redis.call('SET', seal_key, offered)
return offered
