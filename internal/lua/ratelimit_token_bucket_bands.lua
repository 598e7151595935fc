-- Charges a token bucket of several bands, all or none, or says when it may succeed.
-- USES clock once muldiv bucket charge reload
-- KEYS bucket (hash, see prelude_bucket.lua)
-- ARGV cost (tokens); peek (1 = take nothing); wait_us (how far away the slot may be); revision (of the rule, rises);
--      signature (all bands as text); bands (how many, 1 to 4); then for each: capacity (tokens); l (tokens per p); p (us); ...
-- RETURNS allowed (1, 2 = at the slot, or 0); band (from 1); remaining (tokens, down); current (tokens, up);
--      retry_after_us (-1 = never; when allowed is 2, until the slot); reset_after_us; now_us
-- TTL bucket: until it is as if unused, 1 % and 1 s longer
-- COST O(bands): HMGET, and when it took something HSET and PEXPIRE
local n = tonumber(ARGV[6])
return once(KEYS[2], ARGV[3 * n + 7], function()
  local cost, peek, wait, v, sig = tonumber(ARGV[1]), ARGV[2] == '1', tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
  local charge, fields = charging()
  local f = redis.call('HMGET', KEYS[1], unpack(fields, 1, 2 * n + 3))
  if f[1] and f[3] ~= sig then return charge(cost, peek, wait, n, stored(sig, v)) end
  local bands = {}
  for i = 1, n do
    local k = 3 * i + 4
    bands[i] = {
      c = tonumber(ARGV[k]), l = tonumber(ARGV[k + 1]), p = tonumber(ARGV[k + 2]),
      u = tonumber(f[2 * i + 2] or 0), r = tonumber(f[2 * i + 3] or 0),
    }
  end
  local s = {bands = bands, t = tonumber(f[1] or now), v = math.max(v, tonumber(f[2] or 0)), sig = sig, had = n}
  return charge(cost, peek, wait, n, s)
end)
