-- Charges a token bucket of one band, or says when it may succeed.
-- USES clock lifetime
-- TEXTS state
-- RARE pace
-- LATER muldiv bands state bucket pace admit whole
-- KEYS state; pace
-- ARGV cost; peek; wait_us; revision; signature; capacity; l; p
-- RETURNS allowed; band; remaining; current; retry_after_us; reset_after_us; now_us; denied; newer
-- TTL state: until it is as if unused, 1 % and 1 s longer; pace: see part_pace.lua
-- COST O(1), 25 us: MGET and EXISTS for all items of a run, and when it took something SET
local text = text_get(state_key)
-- since is the text of the fields from and last of the state, which no charge here changes.
local t, v, u, r, since = now, revision, 0, 0, nil
if text then
  local _, _, t0, v0, sig, since0, u0, r0 = string.find(text, '^(%d+) (%d+) (%S+) (%d+ %d+) (%d+) (%d+)$')
  if sig ~= signature then return later()(state_key, pace_key, cost, peek, wait_us, revision, signature) end
  t, v, u, r, since = tonumber(t0), math.max(v, tonumber(v0)), tonumber(u0), tonumber(r0), since0
end
-- Below there is neither a pause nor a delay, no product passes 2^53, time goes forward, and l is not 0.
local paused = false
if rare then
  local pace = redis.call('HMGET', pace_key, 'pause', 'delay')
  paused = pace[1] or pace[2]
end
if paused or (u + cost) * p >= 9007199254740992 or t > now or l == 0 then
  return later()(state_key, pace_key, cost, peek, wait_us, revision, signature)
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
  if retry <= wait_us then return later()(state_key, pace_key, cost, peek, wait_us, revision, signature) end
end
local wrote = retry == 0 and cost > 0 and not peek
if wrote then u = u + cost end
local reset = u > 0 and math.ceil((u * p - r) / l) or 0
if wrote then
  local state = {string.format('%d %d ', now, v), signature, ' ', since or string.format('%d 0', now), string.format(' %d %d', u, r)}
  text_set(state_key, table.concat(state), lifetime_ms(reset))
end
return {
  allowed = retry == 0 and 1 or 0, band = 1, remaining = math.max(capacity - u, 0), current = u, retry_after_us = retry,
  reset_after_us = reset, now_us = now, denied = retry == 0 and '' or 'limit',
}, wrote
