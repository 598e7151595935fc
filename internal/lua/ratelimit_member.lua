-- Charges the bucket of a pool's member, looks at it, or forgets it; whoever has the member.
-- USES clock once muldiv lifetime bands state bucket bucket_text line pool pool_wake
-- KEYS order (sorted set, as the next seven see prelude_pool.lua); meta (hash); changes (sorted set); members (hash);
--      tokens (hash); state (hash); heads (sorted set); breakers (hash); buckets (hash, see prelude_bucket_text.lua)
-- ARGV member; cost (tokens); peek (1 = take nothing); reset (1 = forget the bucket); revision (of the rule, rises); signature (all
--      bands as text); inboxes (what the names of the sidecars' channels begin with)
-- RETURNS found (1 = there is such a member); allowed (1 or 0; of a reset whether there was one); band (from 1); remaining (tokens,
--      down); current (tokens, up); retry_after_us (-1 = never); reset_after_us; now_us; denied (limit, pause or empty);
--      newer (all bands of the rule that decided, if it is newer than the caller's, else empty)
-- TTL changes, state: none; buckets: until all are as if unused, 1 % and 1 s longer
-- COST O(bands + lines): HGET twice, and when it took something HSET and PEXPIRE
return once(KEYS[10], ARGV[8], function()
  local id, cost, buckets = ARGV[1], tonumber(ARGV[2]), KEYS[9]
  local st, text = redis.call('HGET', MEMBERS, id), redis.call('HGET', buckets, id)
  if not st then return {0, 0, 1, 0, 0, 0, 0, now, '', ''}, false end
  if ARGV[4] == '1' then
    redis.call('HDEL', buckets, id)
    pool_changed(id)
    pool_wake(ARGV[7])
    return {1, text and 1 or 0, 1, 0, 0, 0, 0, now, '', ''}, true
  end
  local s, denied = bucket_read(text, ARGV[6], tonumber(ARGV[5])), ''
  local retry, at = bucket_wait(s, cost)
  if retry ~= 0 then denied = 'limit' end
  local paused = select(4, pool_times(st)) - now
  if retry >= 0 and paused > 0 and paused >= retry then retry, denied = paused, 'pause' end
  local wrote = retry == 0 and cost > 0 and ARGV[3] ~= '1'
  if wrote then bucket_charge(buckets, id, s, cost) end
  local left, used, full = bucket.view(s, s.bands[at])
  return {1, retry == 0 and 1 or 0, at, math.max(left, 0), used, retry, full, now, denied, newer(s, ARGV[6])}, wrote
end)
