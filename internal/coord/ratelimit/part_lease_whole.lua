-- lease_whole charges a token bucket of any bands ahead; rare is whether there may be something at the gate.
local function lease_whole(state_key, gate_key, rare, block)
  local s = bucket.open(stored(state_key, bucket, block.signature, block.revision))
  return lease(bucket, s, gate_key, rare and gate_read(gate_key), block)
end
