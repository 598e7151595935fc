-- Gives back a slot that was promised and has not come: it is credited when it is the last one.
-- USES clock muldiv lifetime bands state gate credit bucket bucket_credit gcra leaky leaky_credit window window_credit log
-- KEYS state (of its algorithm); gate (hash, see prelude_gate.lua); latch (of the request that was promised it; the state again = none)
-- ARGV algorithm; id (of the charge); cost (that was charged); slot_us (when it comes); promised_us (when it was promised)
-- RETURNS slot (1 = credited; 0 = others were promised later ones, or it is unknown; 2 = it has come, and is used)
-- TTL state: as with a charge of its algorithm; gate: see prelude_gate.lua
-- COST O(bands): HMGET twice, and when it credits HSET and PEXPIRE
local cost, slot, promised = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
if slot <= now then return {2} end

-- taken_back: a state that began after the promise, by a reset or with other bands, owes to others.
local function taken_back()
  if ARGV[1] == 'sliding_window_log' then return log_give_back(ARGV[2]) end
  local a = ({token_bucket = bucket, leaky_bucket = leaky, fixed_window = window})[ARGV[1]]
  local s = a.open(stored(a, '', -1))
  if s.had == 0 or s.from > promised or not a.latest(s, slot) then return false end
  a.give(s, cost)
  a.keep(s)
  return true
end

-- With a delay every admission moves when the next one may go, so that this too tells the last one.
local g = gate(KEYS[2])
local last = (g.delay == 0 or g.next == slot + g.delay) and taken_back()
if last and g.delay > 0 then
  g.next = slot
  gate_keep(KEYS[2], g)
end
if KEYS[3] ~= KEYS[1] then redis.call('DEL', KEYS[3]) end
return {last and 1 or 0}
