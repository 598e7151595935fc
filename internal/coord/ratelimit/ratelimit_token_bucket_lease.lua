-- Charges a token bucket ahead, all bands or none, or says when the cost may succeed; takes back an earlier block.
-- USES clock lifetime
-- TEXTS state
-- RARE pace
-- LATER muldiv bands state bucket pace admit credit bucket_credit lease_back lease lease_whole
-- KEYS state; pace
-- ARGV cost; most; revision; signature; unused; at_us
-- RETURNS allowed; band; remaining; current; retry_after_us; reset_after_us; now_us; denied; newer; taken; returned; ends_us
-- TTL state: until it is as if unused, 1 % and 1 s longer; pace: see part_pace.lua
-- COST O(bands), 50 us: MGET and EXISTS for all items of a run, and when it took or took back something SET
local c, l, p = string.match(block.signature, '^(%d+)/(%d+)/(%d+)/%d+$')
local text, cost, most = text_get(state_key), block.cost, block.most
local t, v, u, r, from, last = now, block.revision, 0, 0, now, 0
local plain = c and not rare and block.unused == 0
if text and plain then
  local _, _, t0, v0, sig, from0, last0, u0, r0 = string.find(text, '^(%d+) (%d+) (%S+) (%d+) (%d+) (%d+) (%d+)$')
  plain = sig == block.signature
  if plain then
    t, v, u, r, from, last = tonumber(t0), math.max(v, tonumber(v0)), tonumber(u0), tonumber(r0), tonumber(from0), tonumber(last0)
  end
end
c, l, p = tonumber(c), tonumber(l), tonumber(p)
-- Below there is one band, of the rule that the sidecar has, no pace, and nothing to take back; no product passes 2^53, time
-- goes forward, and l is not 0.
if not plain or (u + most) * p >= 9007199254740992 or t > now or l == 0 then
  return later()(state_key, pace_key, rare, block)
end
local x = (now - t) * l + r
if x >= u * p then
  u, r = 0, 0
else
  local d = math.floor(x / p)
  u, r = u - d, x - d * p
end
local take, retry = math.max(cost, math.min(most, c - u)), 0
if cost > c then
  retry = -1
elseif u + take > c then
  retry = math.ceil(((u + take - c) * p - r) / l)
end
if retry == 0 then u = u + take end
local reset = u > 0 and math.ceil((u * p - r) / l) or 0
if retry == 0 then
  local state = {string.format('%d %d ', now, v), block.signature, string.format(' %d %d %d %d', from, last, u, r)}
  text_set(state_key, table.concat(state), lifetime_ms(reset))
end
return {
  allowed = retry == 0 and 1 or 0, band = 1, remaining = math.max(c - u, 0), current = u, retry_after_us = retry,
  reset_after_us = reset, now_us = now, denied = retry == 0 and '' or 'limit', taken = retry == 0 and take or 0,
}, retry == 0
