-- Charges two counters, all bands or none, or says when it may succeed. A window is aligned; what counts is the present
-- one and, of prev in the one before, the share that a window ending now still covers: a cost fits at e us into the
-- present one if ceil(prev * (p - e) / p) <= limit - cur - cost. So an aligned window has at most the limit; and any
-- half-open interval of one period, beginning x us after n was charged in a window, has at most n there and, up to x - 1
-- in the next, limit - ceil(n * (p - x + 1) / p): together at most limit + floor(limit * (x - 1) / p), less than twice.
-- USES clock once lifetime muldiv bands counter gate admit request
-- LATER line leases seat
-- KEYS state (hash, see prelude_counter.lua); gate (hash, see prelude_gate.lua);
--      leases (sorted set, see prelude_leases.lua, as the rest only with max_concurrent); holders (hash);
--      line (sorted set, see prelude_line.lua); beats (sorted set)
-- ARGV cost (tokens); peek (1 = take nothing, 2 = and tell every band); wait_us (unused: nothing is promised);
--      revision (of the rule, rises); signature (all bands as text); id (of what is charged); max_concurrent (leases at once,
--      0 = any number); hold_ms (how long a lease lives); session (id, empty = none); client (any bytes); instance (any bytes);
--      waiter (the caller's in the line, empty = it does not wait); beat_ms (its place lives so long, 0 = it leaves the line);
--      inboxes (what the names of the sidecars' channels begin with)
-- RETURNS allowed (1 or 0); band (from 1); remaining (tokens, never negative); current (tokens, the share of
--      the window before rounded up); retry_after_us (-1 = never); reset_after_us; now_us;
--      denied (limit, pause, delay, concurrency or empty); newer (all bands of the rule that decided, if it is newer than the
--      caller's, else empty); first (1 = nobody alive is before the caller in the line);
--      bands (how many follow); then (for each); remaining; current; reset_after_us
-- TTL state: until its counts are of no window that counts, 1 % and 1 s longer; gate, leases, holders, line, beats: see
--      their preludes
-- COST O(bands + ended leases + dead waiters): HMGET twice, and when it took something HSET and PEXPIRE
return once(latch, ARGV[15], function()
  local r = request(later)
  -- What will count in a window to come is not known, so that no slot in it can be promised.
  r.wait = 0
  local a = {}

  -- covers is the first instant of a window, us into it, when of prev at most room counts; at its end it is all gone.
  local function covers(b, prev, room)
    if prev <= room then return 0 end
    return b.us - muldiv(room, b.us, prev, 0)
  end

  -- wait tries this window, then the next, to which cur is what prev is to this one; in the one after all is gone.
  function a.wait(_, b, cost)
    if cost > b.c then return -1 end
    local room, start = b.c - b.cur - cost, b.w * b.us
    if counter_used(b) <= b.c - cost then return 0 end
    local e = room > 0 and covers(b, b.prev, room) or b.us
    if e == b.us then e = b.us + covers(b, b.cur, b.c - cost) end
    return start + e - now
  end

  function a.view(_, b)
    local used, ends = counter_used(b), b.w * b.us
    if used > 0 then ends = ends + (b.cur > 0 and 2 or 1) * b.us end
    return b.c - used, used, used > 0 and ends - now or 0
  end

  function a.take(s, cost)
    for _, b in ipairs(s.bands) do b.cur = b.cur + cost end
    counter_write(s)
  end

  return admit(a, counter_read(r.sig, r.revision), r)
end)
