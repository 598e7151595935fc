-- Removes a sidecar from the registry of the fleet.
-- USES clock
-- KEYS ends; texts
-- ARGV sidecar
-- RETURNS left
-- TTL none is written
-- COST O(log sidecars): ZREM, HDEL
redis.call('HDEL', texts_key, sidecar)
return redis.call('ZREM', ends_key, sidecar) == 1
