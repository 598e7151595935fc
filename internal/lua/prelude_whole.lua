-- whole charges a token bucket of one band by the general way.
local function whole(cost, peek, wait, revision, sig)
  local s = bucket.open(stored(bucket, sig, revision))
  local reply, wrote = admit(bucket, s, {cost = cost, peek = peek, wait = wait, sig = sig, gate = KEYS[2]})
  return {unpack(reply, 1, 9)}, wrote
end
