-- whole charges a token bucket as the general script does, with the inputs of the script for one band.
local function whole(state_key, pace_key, cost, peek, wait_us, revision, signature)
  local charge = {cost = cost, peek = peek and 1 or 0, wait_us = wait_us, signature = signature}
  return admit(bucket, bucket.open(stored(state_key, bucket, signature, revision)), pace_key, charge)
end
