-- request reads what every general script that charges a limit is given. The keys come in pairs, so that an odd one at
-- the end is the latch. seat makes what only max_concurrent needs.
local function request(seat)
  local r = {
    cost = tonumber(ARGV[1]), peek = ARGV[2] ~= '0', each = ARGV[2] == '2', wait = tonumber(ARGV[3]),
    revision = tonumber(ARGV[4]), sig = ARGV[5], gate = KEYS[2], id = ARGV[6],
  }
  local max = tonumber(ARGV[7])
  if max > 0 then
    r.seat = seat()
    r.max, r.leases, r.holders, r.line, r.beats = max, KEYS[3], KEYS[4], KEYS[5], KEYS[6]
    r.hold_ms, r.session, r.client, r.instance = tonumber(ARGV[8]), ARGV[9], ARGV[10], ARGV[11]
    r.waiter, r.beat_ms, r.inboxes = ARGV[12], tonumber(ARGV[13]), ARGV[14]
  end
  return r
end

-- latch is where the reply is kept, if it is.
local latch = #KEYS % 2 == 1 and KEYS[#KEYS] or nil
