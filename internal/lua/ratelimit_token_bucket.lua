-- Charges a token bucket of one band, or says when it may succeed.
-- USES clock once lifetime
-- LATER muldiv bands state bucket gate admit whole
-- KEYS state (hash, see prelude_bucket.lua); gate (hash, see prelude_gate.lua)
-- ARGV cost (tokens); peek (1 = take nothing); wait_us (how far away the slot may be); revision (of the rule, rises);
--      signature (all bands as text); capacity (tokens); l (tokens per p); p (us)
-- RETURNS allowed (1, 2 = at the slot, or 0); band (from 1); remaining (tokens, down); current (tokens, up);
--      retry_after_us (-1 = never; when allowed is 2, until the slot); reset_after_us; now_us; denied (limit, pause, delay or empty);
--      newer (all bands of the rule that decided, if it is newer than the caller's, else empty)
-- TTL state: until it is as if unused, 1 % and 1 s longer; gate: see prelude_gate.lua
-- COST O(1): HMGET twice, and when it took something HSET and PEXPIRE
return once(KEYS[3], ARGV[9], function()
  local cost, peek, wait, v, sig = tonumber(ARGV[1]), ARGV[2] == '1', tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
  local c, l, p = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
  local f = redis.call('HMGET', KEYS[1], 't', 'v', 'sig', 'u1', 'r1')
  local g = redis.call('HMGET', KEYS[2], 'pause', 'delay')
  local t, u, r = now, 0, 0
  if f[1] then
    if f[3] ~= sig then return later()(cost, peek, wait, v, sig) end
    t, v, u, r = tonumber(f[1]), math.max(v, tonumber(f[2])), tonumber(f[4]), tonumber(f[5])
  end
  -- Below, nothing is shut, no product passes 2^53, time goes forward, and l divides.
  if g[1] or g[2] or (u + cost) * p >= 9007199254740992 or t > now or l == 0 then return later()(cost, peek, wait, v, sig) end
  local x = (now - t) * l + r
  if x >= u * p then
    u, r = 0, 0
  else
    local d = math.floor(x / p)
    u, r = u - d, x - d * p
  end
  local retry = 0
  if cost > c then
    retry = -1
  elseif u + cost > c then
    retry = math.ceil(((u + cost - c) * p - r) / l)
    if retry <= wait then return later()(cost, peek, wait, v, sig) end
  end
  local wrote = retry == 0 and cost > 0 and not peek
  if wrote then u = u + cost end
  local reset = u > 0 and math.ceil((u * p - r) / l) or 0
  if wrote then
    if f[1] then
      redis.call('HSET', KEYS[1], 't', now, 'v', v, 'sig', sig, 'u1', u, 'r1', r)
    else
      redis.call('HSET', KEYS[1], 't', now, 'v', v, 'sig', sig, 'from', now, 'u1', u, 'r1', r)
    end
    redis.call('PEXPIRE', KEYS[1], lifetime_ms(reset))
  end
  return {retry == 0 and 1 or 0, 1, math.max(c - u, 0), u, retry, reset, now, retry == 0 and '' or 'limit', ''}, wrote
end)
