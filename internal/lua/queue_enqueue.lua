-- Puts an entry at the end of a queue, unless its id is there, and tells whose turn it is. Repeated by its latch it puts
-- nothing, though the entry may have been taken and dealt with.
-- USES clock once queue queue_tidy line
-- KEYS order (sorted set, see prelude_queue.lua); entries (hash); bodies (hash); expiry (sorted set); leased (sorted set);
--      holders (hash); line (sorted set, see prelude_line.lua); beats (sorted set)
-- ARGV id (any bytes); ttl_ms; body (any bytes); inboxes (what the names of the sidecars' channels begin with)
-- RETURNS enqueued (1 or 0); position (0 = someone has it); depth; returned (how many came back); expired (how many had)
-- TTL all but line and beats: until nothing of the queue can be wanted, and 1 s; line, beats: unchanged
-- COST O(log entries + ended leases and expired entries, 10 at most): HGET, ZADD, HSET, PEXPIRE, ZRANGE and PUBLISH
local wake = false
local reply = once(KEYS[9], ARGV[5], function()
  local id = ARGV[1]
  local q = queue_read()
  redis.call('ZCARD', KEYS[7])
  redis.call('ZCARD', KEYS[8])
  -- More than come in, so that those nobody takes do not pile up.
  queue_tidy(10)
  local e, leased = entry_find(id)
  local new = not e
  if new then
    -- By the clock, so that numbers rise although the last one is forgotten with the last entry.
    q.last = math.max(q.last + 1, now)
    e = {id = id, n = q.last, came = now, ends = now + tonumber(ARGV[2]) * 1000, tries = 0}
    entry_wait(e)
    if ARGV[3] ~= '' then redis.call('HSET', BODIES, id, ARGV[3]) end
    q.longest = math.max(q.longest, e.ends)
  end
  if new or returned + expired > 0 then queue_keep(q) end
  local position = leased and 0 or redis.call('ZRANK', ORDER, id) + 1
  local depth = redis.call('ZCARD', ORDER)
  wake = new or returned > 0
  return {new and 1 or 0, position, depth, returned, expired}, new
end)
if wake then line_wake(KEYS[7], KEYS[8], ARGV[4]) end
return reply
