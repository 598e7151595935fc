-- Takes the first entry of a queue in the caller's turn, or may give it a place in the line for one.
-- USES clock once queue queue_tidy line
-- KEYS order (sorted set, see prelude_queue.lua); entries (hash); bodies (hash); expiry (sorted set); leased (sorted set);
--      holders (hash); line (sorted set, see prelude_line.lua); beats (sorted set); taken (hash, see queue_release.lua)
-- ARGV lease (no space); lease_ms (0 = it leaves the queue); session (id, empty = none); keep_ms (how long one that left can
--      be put back); waiter (the caller's in the line, empty = it does not wait); beat_ms (its place lives so long, 0 = it
--      leaves the line); inboxes (what the names of the sidecars' channels begin with)
-- RETURNS found (1 or 0); id; attempt (from 1); came_ms; depth (without it); lease_ends_ms (until a lease ends, up; 0 = there is
--      none); first (1 = nobody alive is before the caller in the line); more (1 = ask again: there may be one behind those
--      that were removed); returned (how many came back); expired (how many had); body (empty when replayed)
-- TTL as queue_enqueue; taken: keep_ms; line, beats: beat_ms and 60 s
-- COST O(log entries + dead waiters + ended leases and expired entries, 1,000 at most): HGET, ZRANGE, ZREM, HSET, PEXPIRE
local body = ''
local reply = once(KEYS[10], ARGV[8], function()
  local lease, lease_ms, waiter, beat_ms = ARGV[1], tonumber(ARGV[2]), ARGV[5], tonumber(ARGV[6])
  local q = queue_read()
  redis.call('ZCARD', KEYS[8])
  redis.call('HLEN', KEYS[9])
  line_hear(KEYS[7], KEYS[8], waiter, beat_ms)
  local head = line_head(KEYS[7], KEYS[8])
  local first = not head or waiter ~= '' and head == waiter
  local more = queue_tidy(1000)
  local id = first and not more and redis.call('ZRANGE', ORDER, 0, 0)[1]
  if not id then
    if returned + expired > 0 then queue_keep(q) end
    if waiter ~= '' and not more then
      if beat_ms > 0 then
        line_enter(KEYS[7], KEYS[8], waiter, beat_ms)
      else
        redis.call('ZREM', KEYS[7], waiter)
      end
    end
    local ends = redis.call('ZRANGE', LEASED, 0, 0, 'WITHSCORES')[2]
    ends = ends and math.max(math.ceil((tonumber(ends) - now) / 1000), 1) or 0
    local depth = redis.call('ZCARD', ORDER)
    if returned > 0 and not first then line_wake(KEYS[7], KEYS[8], ARGV[7]) end
    return {0, '', 0, 0, depth, ends, first and 1 or 0, more and 1 or 0, returned, expired, ''}
  end
  local e = entry_read(id)
  body = redis.call('HGET', BODIES, id) or ''
  if lease_ms > 0 then
    local ends = now + lease_ms * 1000
    q.longest = math.max(q.longest, ends + e.ends - now)
    e.since, e.tries, e.lease, e.session = now, e.tries + 1, lease, ARGV[3]
    redis.call('ZREM', ORDER, id)
    redis.call('ZREM', EXPIRY, id)
    redis.call('ZADD', LEASED, ends, lease)
    redis.call('HSET', HOLDERS, lease, id)
    redis.call('HSET', ENTRIES, id, entry_text(e))
  else
    redis.call('HSET', KEYS[9], 'id', id, 'entry', entry_text(e), 'body', body, 'session', ARGV[3])
    redis.call('PEXPIRE', KEYS[9], ARGV[4])
    entries_drop({id})
    e.tries = e.tries + 1
  end
  queue_keep(q)
  local depth = redis.call('ZCARD', ORDER)
  if waiter ~= '' then redis.call('ZREM', KEYS[7], waiter) end
  if depth > 0 then line_wake(KEYS[7], KEYS[8], ARGV[7]) end
  return {1, id, e.tries, math.floor(e.came / 1000), depth, 0, 1, 0, returned, expired, ''}, true
end)
-- Not a part of what once keeps, for its memory's sake: who repeats the call is told by queue_replay.
if reply[1] == 1 then reply[11] = body end
return reply
