-- A token bucket (see lib/bucket.lua) whose text (see lib/state.lua) is in a hash with others. A script that uses this part names
-- muldiv, bands, state and bucket before it.
local function bucket_read(text, sig, revision)
  return bucket.open(stored(nil, bucket, sig, revision, state_words(text)))
end

-- bucket_wait returns how long (us) it takes until all bands have the cost, -1 = never, and the number of the band that has it
-- last; if all have it now, the number of the band with the least left.
local function bucket_wait(s, cost)
  local wait, late, least, spare = 0, nil, 1, nil
  for i, b in ipairs(s.bands) do
    local w, left = bucket.wait(s, b, cost), b.c - b.u
    if not spare or left < spare then least, spare = i, left end
    if wait >= 0 and (w < 0 or w > wait) then wait, late = w, i end
  end
  return wait, late or least
end

-- bucket_left returns what is left in the band with the least.
local function bucket_left(s)
  local left = s.bands[1].c
  for _, b in ipairs(s.bands) do left = math.min(left, b.c - b.u) end
  return math.max(left, 0)
end

-- bucket_charge takes the cost of a member. The hash lives as long as the longest of its buckets.
local function bucket_charge(key, id, s, cost)
  bucket.take(s, cost, 0)
  redis.call('HSET', key, id, state_text(s))
  redis.call('PEXPIRE', key, math.max(redis.call('PTTL', key), lifetime_ms(s.full)))
end
