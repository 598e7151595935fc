-- Tells the text by which all sidecars seal grants, and keeps the one that is offered where there is none.
-- USES
-- KEYS seal (string)
-- ARGV offered (text)
-- RETURNS seal (text)
-- TTL none: a grant is read by sidecars that start after those that wrote it
-- COST O(1): GET, and the first time SET
local seal = redis.call('GET', KEYS[1])
if seal then return {seal} end
redis.call('SET', KEYS[1], ARGV[1])
return {ARGV[1]}
