-- Sends a message to the present subscribers of a channel.
-- USES
-- KEYS route
-- ARGV channel; body
-- RETURNS receivers
-- TTL route: none, it is never written
-- COST O(subscribers), 20 us: PUBLISH; 5 us while nobody listens
local receivers = redis.pcall('PUBLISH', channel, body)
if type(receivers) ~= 'number' then return {receivers = -1} end
return {receivers = receivers}, true
