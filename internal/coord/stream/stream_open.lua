-- Makes a group, if there is none. One that was lost begins behind the last message that it is known to have been given.
-- USES stream
-- KEYS log; dead; groups
-- ARGV group; from
-- RETURNS created; last
-- TTL none
-- COST O(groups): XINFO, HGET, XGROUP CREATE
local g = group_find(log_key, group)
if g then return {last = g['last-delivered-id']} end
local known = redis.call('HGET', groups_key, group)
redis.call('XGROUP', 'CREATE', log_key, group, known or from, 'MKSTREAM')
local last = group_find(log_key, group)['last-delivered-id']
redis.call('HSET', groups_key, group, last)
return {created = true, last = last}
