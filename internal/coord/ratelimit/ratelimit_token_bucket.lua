-- Charges a token bucket of one band, or says when it may succeed.
-- USES clock lifetime
-- LATER muldiv bands state bucket gate admit whole
-- KEYS state; gate
-- ARGV cost; peek; wait_us; revision; signature; capacity; l; p
-- RETURNS allowed; band; remaining; current; retry_after_us; reset_after_us; now_us; denied; newer
-- TTL state: until it is as if unused, 1 % and 1 s longer; gate: see part_gate.lua
-- COST O(1), 8 us: HMGET twice, and when it took something HSET and PEXPIRE
local f = redis.call('HMGET', state_key, 't', 'v', 'sig', 'u1', 'r1')
local g = redis.call('HMGET', gate_key, 'pause', 'delay')
local t, v, u, r = now, revision, 0, 0
if f[1] then
  if f[3] ~= signature then return later()(state_key, gate_key, cost, peek, wait_us, revision, signature) end
  t, v, u, r = tonumber(f[1]), math.max(v, tonumber(f[2])), tonumber(f[4]), tonumber(f[5])
end
-- Below, nothing is shut, no product passes 2^53, time goes forward, and l divides.
if g[1] or g[2] or (u + cost) * p >= 9007199254740992 or t > now or l == 0 then
  return later()(state_key, gate_key, cost, peek, wait_us, revision, signature)
end
local x = (now - t) * l + r
if x >= u * p then
  u, r = 0, 0
else
  local d = math.floor(x / p)
  u, r = u - d, x - d * p
end
local retry = 0
if cost > capacity then
  retry = -1
elseif u + cost > capacity then
  retry = math.ceil(((u + cost - capacity) * p - r) / l)
  if retry <= wait_us then return later()(state_key, gate_key, cost, peek, wait_us, revision, signature) end
end
local wrote = retry == 0 and cost > 0 and not peek
if wrote then u = u + cost end
local reset = u > 0 and math.ceil((u * p - r) / l) or 0
if wrote then
  if f[1] then
    redis.call('HSET', state_key, 't', now, 'v', v, 'sig', signature, 'u1', u, 'r1', r)
  else
    redis.call('HSET', state_key, 't', now, 'v', v, 'sig', signature, 'from', now, 'u1', u, 'r1', r)
  end
  redis.call('PEXPIRE', state_key, lifetime_ms(reset))
end
return {
  allowed = retry == 0 and 1 or 0, band = 1, remaining = math.max(capacity - u, 0), current = u, retry_after_us = retry,
  reset_after_us = reset, now_us = now, denied = retry == 0 and '' or 'limit',
}, wrote
