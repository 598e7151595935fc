-- Puts an entry back whose lease is given up, or that left the queue for a caller who did not hear of it; gives up a
-- place in the line; and tells whose turn it is.
-- USES clock queue queue_tidy queue_ended line
-- KEYS order (sorted set, see prelude_queue.lua); entries (hash); bodies (hash); expiry (sorted set); leased (sorted set);
--      holders (hash); ended (sorted set, see prelude_queue_ended.lua); line (sorted set, see prelude_line.lua); beats (sorted
--      set); taken (hash, of an entry that left the queue: id, entry as it was, body, and session of who was told)
-- ARGV lease (empty = none); session (id, empty = any); waiter (that leaves the line, empty = none);
--      inboxes (what the names of the sidecars' channels begin with)
-- RETURNS state (QueueLeaseState in queue.go)
-- TTL as queue_enqueue; ended: 150 s; line, beats: unchanged
-- COST O(log entries + dead waiters): ZSCORE, HGET, and when it is held ZADD, ZREM, HSET, HDEL, PEXPIRE, ZRANGE and PUBLISH
local lease, session, found = ARGV[1], ARGV[2], 0
local q = queue_read()
local noted = ended_by('r', lease)
local taken = redis.call('HMGET', KEYS[10], 'id', 'entry', 'body', 'session')
redis.call('ZCARD', KEYS[9])
local left = ARGV[3] ~= '' and redis.call('ZREM', KEYS[8], ARGV[3]) == 1
local e = lease_find(lease)
if e then
  found = (session == '' or e.session == session) and 1 or 2
  if found == 1 then entry_return(e, now) end
elseif lease ~= '' and taken[1] then
  found = (session == '' or taken[4] == session) and 1 or 2
  -- One that came again meanwhile stays as it is.
  if found == 1 and not entry_find(taken[1]) then
    redis.call('HSET', ENTRIES, taken[1], taken[2])
    e = entry_read(taken[1])
    entry_wait(e)
    if taken[3] ~= '' then redis.call('HSET', BODIES, e.id, taken[3]) end
    q.last, q.longest = math.max(q.last, e.n), math.max(q.longest, e.ends)
  end
  if found == 1 then redis.call('DEL', KEYS[10]) end
elseif noted then
  found = 3
end
if found == 1 then
  ended_note('r', lease)
  queue_keep(q)
end
if (found == 1 or left) and redis.call('ZCARD', ORDER) > 0 then line_wake(KEYS[8], KEYS[9], ARGV[4]) end
return {found}
