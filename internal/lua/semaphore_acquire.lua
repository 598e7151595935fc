-- Grants permits of a semaphore, all or none, or says how many are free and may give the caller a place in the line.
-- USES clock once line leases permits
-- KEYS leases (sorted set, see prelude_leases.lua); holders (hash); weights (sorted set, see prelude_permits.lua);
--      line (sorted set, see prelude_line.lua); beats (sorted set); gone (string: the fence of what the token gave back)
-- ARGV token (the owner's secret); limit (permits in all); permits (asked for, at most limit); ttl_ms; session (id, empty =
--      bound to its TTL); client (any bytes); instance (any bytes); meta (any bytes); max_hold_ms (no renewal passes that, 0 =
--      any may); waiter (the caller's in the line, empty = it does not wait); beat_ms (its place lives so long, 0 = it leaves
--      the line); inboxes (what the names of the sidecars' channels begin with)
-- RETURNS acquired (1 or 0); fence (0 when it was not acquired); ttl_ms (left, down); final (1 = no renewal extends it);
--      free (permits, after this); wait_us (until enough TTLs have ended, 0 = not known); first (1 = nobody alive is before
--      the caller in the line); more (1 = leases that have ended are counted still: ask again at once)
-- TTL leases, holders, weights: as long as the last lease, and 150 s; line, beats: beat_ms and 60 s
-- COST O(log leases + different weights + ended leases + dead waiters); refused O(leases that have to end, at most 1,000)
return once(KEYS[7], ARGV[13], function()
  local token, limit, permits, ttl_ms = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
  local line, beats, waiter, beat_ms, inboxes = KEYS[4], KEYS[5], ARGV[10], tonumber(ARGV[11]), ARGV[12]
  local mine = permits_of(token)
  -- A key of another type fails before anything is written.
  redis.call('ZCARD', weights)
  redis.call('ZCARD', beats)
  redis.call('GET', KEYS[6])
  line_hear(line, beats, waiter, beat_ms)
  local head = line_head(line, beats)
  local first = (not head or waiter ~= '' and head == waiter) and 1 or 0
  local held, more = permits_held()
  local free = math.max(0, limit - held)
  if more then return {0, 0, 0, 0, free, 0, first, 1} end
  if not mine and (first == 0 or free < permits) then
    local wait = free < permits and math.max(1, permits_end(permits - limit + held) - now) or 0
    if waiter ~= '' and beat_ms > 0 then
      line_enter(line, beats, waiter, beat_ms)
    elseif waiter ~= '' and redis.call('ZREM', line, waiter) == 1 and free > 0 then
      -- It was in the way of those who ask for less.
      line_wake(line, beats, inboxes)
    end
    return {0, 0, 0, 0, free, wait, first, 0}
  end
  if not mine then
    local max_ms = tonumber(ARGV[9])
    mine = {
      ends = 0, since = now, permits = permits, max = max_ms > 0 and now + max_ms * 1000 or 0,
      fence = math.max(tonumber(redis.call('HGET', holders, '') or 0) + 1, now),
    }
    redis.call('HSET', holders, '', mine.fence)
    -- The token owns again: that it gave back before is no longer news.
    redis.call('DEL', KEYS[6])
    free = free - permits
  end
  mine.session, mine.client, mine.instance, mine.meta = ARGV[5], ARGV[6], ARGV[7], ARGV[8]
  permits_keep(token, mine, ttl_ms)
  local left, final = permits_left(mine)
  if waiter ~= '' then redis.call('ZREM', line, waiter) end
  if free > 0 then line_wake(line, beats, inboxes) end
  return {1, mine.fence, left, final, free, 0, first, 0}, true
end)
