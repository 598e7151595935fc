-- whole charges a token bucket of one band as the general script does: the inputs are those of the lean one.
local function whole(state_key, gate_key, cost, peek, wait_us, revision, signature)
  local charge = {cost = cost, peek = peek and 1 or 0, wait_us = wait_us, signature = signature}
  return admit(bucket, bucket.open(stored(state_key, bucket, signature, revision)), gate_key, charge)
end
