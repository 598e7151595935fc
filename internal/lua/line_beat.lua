-- Says that a sidecar is alive, whose turn it is, and which of its waiters are no longer in the line.
-- USES clock line
-- KEYS line (sorted set, see prelude_line.lua); beats (sorted set)
-- ARGV sidecar (id); beat_ms (how long this keeps its waiters' places); waiters (of this sidecar, at most 100, joined by spaces);
--      gone (a waiter of this sidecar that waits no more, empty = none)
-- RETURNS head (the waiter whose turn it is, empty = none is known); head_ms (until its sidecar is taken for dead, up);
--      missing (those of waiters that have no place, joined by spaces)
-- TTL line, beats: beat_ms and 60 s
-- COST O(waiters + dead): ZADD, ZRANGE, ZSCORE each, ZREMRANGEBYSCORE, PEXPIRE
local line, beats = KEYS[1], KEYS[2]
-- First, or a sidecar that was late would take its own waiters for dead.
line_beat(line, beats, ARGV[1], tonumber(ARGV[2]))
if ARGV[4] ~= '' then redis.call('ZREM', line, ARGV[4]) end
local head, till = line_head(line, beats)
redis.call('ZREMRANGEBYSCORE', beats, '-inf', now)
local missing = {}
for waiter in string.gmatch(ARGV[3], '%S+') do
  if not redis.call('ZSCORE', line, waiter) then missing[#missing + 1] = waiter end
end
return {head or '', math.max(math.ceil((till - now) / 1000), 0), table.concat(missing, ' ')}
