-- Gives back a slot that was promised and has not come: it is credited when it is the last one.
-- USES clock muldiv lifetime bands state gate credit bucket bucket_credit gcra leaky leaky_credit window window_credit
-- KEYS state (of its algorithm); gate (hash, see prelude_gate.lua); latch (of the request that was promised it; the state again = none)
-- ARGV algorithm; id (of the charge); cost (that was charged); slot_us (when it comes); promised_us (when it was promised)
-- RETURNS slot (1 = credited; 0 = others were promised later ones, or it is unknown; 2 = it has come, and is used)
-- TTL state: as with a charge of its algorithm; gate: unchanged
-- COST O(bands): HMGET twice, and when it credits HSET and PEXPIRE
local cost, slot, promised = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
if slot <= now then return {2} end

-- credited: a state that began after the promise, by a reset or with other bands, owes to others. With a delay every
-- admission moves on when the next may go, so that this tells the last one.
local function credited()
  local a = ({token_bucket = bucket, leaky_bucket = leaky, fixed_window = window})[ARGV[1]]
  local s, g = a.open(stored(a, '', -1)), gate(KEYS[2])
  if s.had == 0 or s.from > promised or g.delay > 0 and g.next ~= slot + g.delay or not a.latest(s, slot) then return false end
  a.give(s, cost)
  a.keep(s)
  if g.delay > 0 then redis.call('HSET', KEYS[2], 'next', slot) end
  return true
end

local last = credited()
if KEYS[3] ~= KEYS[1] then redis.call('DEL', KEYS[3]) end
return {last and 1 or 0}
