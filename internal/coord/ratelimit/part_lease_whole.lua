-- lease_whole charges a token bucket of any bands ahead; rare reports whether the key may have a pace.
local function lease_whole(state_key, pace_key, rare, block)
  local s = bucket.open(stored(state_key, bucket, block.signature, block.revision))
  return lease(bucket, s, pace_key, rare and pace_read(pace_key), block)
end
