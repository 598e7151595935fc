-- Enters a sidecar into the registry of the fleet, or extends its entry and replaces its text. Enters none if the registry is full.
-- USES clock fleet
-- KEYS ends; texts
-- ARGV sidecar; text; ttl_ms; most
-- RETURNS entered
-- TTL ends, texts: as long as the last heartbeat counts
-- COST O(log sidecars + those that have ended, 1,000 at most): ZRANGEBYSCORE, ZSCORE, ZCARD, ZADD, HSET, PEXPIRE
fleet_tidy(ends_key, texts_key)
if not redis.call('ZSCORE', ends_key, sidecar) and redis.call('ZCARD', ends_key) >= most then return false end
redis.call('ZADD', ends_key, now + ttl_ms * 1000, sidecar)
redis.call('HSET', texts_key, sidecar, text)
redis.call('PEXPIRE', ends_key, ttl_ms)
redis.call('PEXPIRE', texts_key, ttl_ms)
return true
