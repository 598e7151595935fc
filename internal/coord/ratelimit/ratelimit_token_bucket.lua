-- Charges a token bucket of one band, or says when it may succeed.
-- USES clock lifetime
-- TEXTS state
-- RARE gate
-- LATER muldiv bands state bucket gate admit whole
-- KEYS state; gate
-- ARGV cost; peek; wait_us; revision; signature; capacity; l; p
-- RETURNS allowed; band; remaining; current; retry_after_us; reset_after_us; now_us; denied; newer
-- TTL state: until it is as if unused, 1 % and 1 s longer; gate: see part_gate.lua
-- COST O(1), 25 us: MGET and EXISTS for all items of a run, and when it took something SET
local text = text_get(state_key)
local t, v, u, r, from, last = now, revision, 0, 0, now, 0
if text then
  local _, _, t0, v0, sig, from0, last0, u0, r0 = string.find(text, '^(%d+) (%d+) (%S+) (%d+) (%d+) (%d+) (%d+)$')
  if sig ~= signature then return later()(state_key, gate_key, cost, peek, wait_us, revision, signature) end
  t, v, u, r, from, last = tonumber(t0), math.max(v, tonumber(v0)), tonumber(u0), tonumber(r0), tonumber(from0), tonumber(last0)
end
-- Below, nothing is shut, no product passes 2^53, time goes forward, and l divides.
local g = rare and redis.call('HMGET', gate_key, 'pause', 'delay') or {}
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
  local state = {string.format('%d %d ', now, v), signature, string.format(' %d %d %d %d', from, last, u, r)}
  text_set(state_key, table.concat(state), lifetime_ms(reset))
end
return {
  allowed = retry == 0 and 1 or 0, band = 1, remaining = math.max(capacity - u, 0), current = u, retry_after_us = retry,
  reset_after_us = reset, now_us = now, denied = retry == 0 and '' or 'limit',
}, wrote
