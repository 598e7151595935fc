-- Ends a reservation without a commit.
-- USES clock seen
-- KEYS seen
-- ARGV token; session
-- RETURNS state
-- TTL seen: 150 s
-- COST O(1), 9 us: HMGET, and when it is held HDEL, HSET and PEXPIRE
local s = seen_read(seen_key)
local state = seen_state(s, token, session)
if state == 1 then
  seen_end(seen_key, s)
  seen_keep(seen_key, now)
end
return state
