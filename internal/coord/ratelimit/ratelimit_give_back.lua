-- Gives back a slot that was promised and has not come. It is credited if it is the last one that was promised.
-- USES clock texts muldiv lifetime bands state pace credit bucket bucket_credit gcra leaky leaky_credit window window_credit log
-- KEYS state; pace; stored_reply
-- ARGV algorithm; id; cost; slot_us; promised_us
-- RETURNS slot
-- TTL state: as with a charge of its algorithm; pace: see part_pace.lua
-- COST O(bands): HMGET twice, and when it credits HSET and PEXPIRE
if slot_us <= now then return 2 end

-- taken_back credits the cost, and returns whether it did. A state that began after the promise, by a reset or with other
-- bands, does not count the slot.
local function taken_back()
  if algorithm == 'sliding_window_log' then return log_give_back(state_key, id) end
  local a = ({token_bucket = bucket, leaky_bucket = leaky, fixed_window = window})[algorithm]
  local s = a.open(stored(state_key, a, '', -1))
  if s.had == 0 or s.from > promised_us or not a.latest(s, slot_us) then return false end
  a.give(s, cost)
  a.keep(s)
  return true
end

-- Under a delay each admission moves next, so that next also shows whether the slot is the last one.
local pace = pace_read(pace_key)
local last = (pace.delay == 0 or pace.next == slot_us + pace.delay) and taken_back()
if last and pace.delay > 0 then
  pace.next = slot_us
  pace_write(pace_key, pace)
end
if stored_reply_key then redis.call('DEL', stored_reply_key) end
return last and 1 or 0
