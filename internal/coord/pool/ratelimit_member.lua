-- Charges, reads or deletes the bucket of a pool's member, whether or not the member is leased.
-- USES clock muldiv lifetime bands state bucket bucket_text line pool pool_wake
-- KEYS order; meta; changes; members; tokens; state; heads; breakers; buckets
-- ARGV member; cost; peek; reset; revision; signature; inboxes
-- RETURNS found; allowed; band; remaining; current; retry_after_us; reset_after_us; now_us; denied; newer
-- TTL changes, state: none; buckets: until all are as if unused, 1 % and 1 s longer
-- COST O(bands + lines): HGET twice, and when it took something HSET and PEXPIRE
local member_text, bucket_was = redis.call('HGET', pool.members, member), redis.call('HGET', buckets_key, member)
if not member_text then return {band = 1, now_us = now}, false end
if reset then
  redis.call('HDEL', buckets_key, member)
  pool_changed(pool, member)
  pool_wake(pool, inboxes)
  return {found = true, allowed = bucket_was and 1 or 0, band = 1, now_us = now}, true
end
local s, denied = bucket_read(bucket_was, signature, revision), ''
local retry_us, band = bucket_wait(s, cost)
if retry_us ~= 0 then denied = 'limit' end
local paused_us = select(4, pool_times(member_text)) - now
if retry_us >= 0 and paused_us > 0 and paused_us >= retry_us then retry_us, denied = paused_us, 'pause' end
local wrote = retry_us == 0 and cost > 0 and not peek
if wrote then bucket_charge(buckets_key, member, s, cost) end
local left, used, full_us = bucket.view(s, s.bands[band])
return {
  found = true, allowed = retry_us == 0 and 1 or 0, band = band, remaining = math.max(left, 0), current = used, retry_after_us = retry_us,
  reset_after_us = full_us, now_us = now, denied = denied, newer = newer(s, signature),
}, wrote
