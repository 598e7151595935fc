-- Reads one page of the registry of the fleet.
-- USES clock
-- KEYS ends; texts
-- ARGV cursor; count
-- RETURNS cursor; total; entries; then; sidecar; text; left_us
-- TTL none is written
-- COST O(count): HSCAN, which returns a hash of few fields whole, ZCOUNT, ZSCORE for each
local next_cursor, flat = unpack(redis.call('HSCAN', texts_key, cursor, 'COUNT', count))
local entries = {}
for i = 1, #flat, 2 do
  local left_us = tonumber(redis.call('ZSCORE', ends_key, flat[i]) or 0) - now
  if left_us > 0 then entries[#entries + 1] = {sidecar = flat[i], text = flat[i + 1], left_us = left_us} end
end
table.sort(entries, function(a, b) return a.sidecar < b.sidecar end)
return {cursor = next_cursor, total = redis.call('ZCOUNT', ends_key, string.format('(%.0f', now), '+inf'), entries = entries}
