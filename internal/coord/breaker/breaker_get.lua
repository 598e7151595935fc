-- Reads a breaker.
-- USES clock breaker breaker_window breaker_step breaker_view
-- KEYS breaker
-- ARGV field; policy
-- RETURNS state; generation; failures; successes; probes; open_us; opened; calls; failed; slow; changed_us; forced; retry_us; most;
--      probe_us
-- TTL none is written
-- COST O(probes): HGET
return breaker_view(breaker_read(redis.call('HGET', breaker_key, field)), breaker_policy(policy))
