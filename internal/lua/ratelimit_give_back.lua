-- Gives back a slot that was promised and has not come: it is credited when it is the last one.
-- USES clock muldiv bucket bands reload
-- KEYS bucket (hash, see prelude_bucket.lua); latch (of the request that was promised it; the bucket again = none)
-- ARGV cost (tokens that were charged); slot_us (when it comes); promised_us (when it was promised)
-- RETURNS slot (1 = credited; 0 = others were promised later ones, or it is unknown; 2 = it has come, and is used)
-- TTL bucket: until it is as if unused, 1 % and 1 s longer
-- COST O(bands): HGET and HMGET, and when it credits HSET and PEXPIRE
local cost, slot, promised = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
if slot <= now then return {2} end

-- Each promise moves the end of the debt, to the instant that was promised; so
-- the last one is that at which the debt ends. It is found exactly, since the
-- level is. A state that was reset or reloaded since owes to others.
local function credited()
  local since = redis.call('HGET', KEYS[1], 'since')
  if not since or tonumber(since) > promised then return false end
  local s, ends = stored('', -1), 0
  local fields, _, wait_us = bucket()
  for _, b in ipairs(s.bands) do
    if b.u > b.c then ends = math.max(ends, s.t + wait_us(b, b.u - b.c, 0)) end
  end
  if ends ~= slot then return false end
  local out, full = {'HSET', KEYS[1]}, 0
  for i, b in ipairs(s.bands) do
    b.u = b.u - cost
    out[#out + 1], out[#out + 2] = fields[2 * i + 2], b.u
    full = math.max(full, s.t + wait_us(b, b.u, 0) - now)
  end
  redis.call(unpack(out))
  redis.call('PEXPIRE', KEYS[1], lifetime_ms(full))
  return true
end

local last = credited()
if KEYS[2] ~= KEYS[1] then redis.call('DEL', KEYS[2]) end
return {last and 1 or 0}
