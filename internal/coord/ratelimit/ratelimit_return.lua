-- Takes back the unused tokens of a block that was charged ahead.
-- USES clock muldiv lifetime bands state credit bucket bucket_credit window window_credit lease_back
-- TEXTS state
-- KEYS state
-- ARGV algorithm; unused; at_us
-- RETURNS returned
-- TTL state: as with a charge of its algorithm
-- COST O(bands), 25 us: MGET for all items of a run, and when it takes back something SET
local a = ({token_bucket = bucket, fixed_window = window})[algorithm]
local s = a.open(stored(state_key, a, '', -1))
local back = lease_back(a, s, unused, at_us)
if back then a.keep(s) end
return back
