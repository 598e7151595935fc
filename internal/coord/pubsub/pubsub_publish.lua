-- Sends a message to those who listen to a channel now.
-- KEYS route
-- ARGV channel; body
-- RETURNS receivers
-- TTL route: none, it is never written
-- COST O(subscribers), 10 us: PUBLISH
return {receivers = redis.call('PUBLISH', channel, body)}, true
