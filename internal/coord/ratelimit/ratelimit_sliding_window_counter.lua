-- Charges two counters, all bands or none, or says when it may succeed. Windows are aligned. What counts is cur, charged in the
-- present window, and of prev, charged in the window before, the share that a window of one period which ends now still covers:
-- at e us into the present window a cost fits if ceil(prev * (p - e) / p) <= limit - cur - cost. So an aligned window has at most
-- the limit. A half-open interval of one period that begins x us into a window in which n is charged has at most n there and, up
-- to x - 1 us into the next window, limit - ceil(n * (p - x + 1) / p). Together that is at most
-- limit + floor(limit * (x - 1) / p), less than twice the limit.
-- USES clock lifetime muldiv bands counter pace admit
-- LATER line leases permit
-- KEYS state; pace; leases; holders; line; heartbeats
-- ARGV cost; peek; wait_us; revision; signature; id; max_concurrent; hold_ms; session; client; instance; waiter; heartbeat_ms;
--      inboxes
-- RETURNS allowed; band; remaining; current; retry_after_us; reset_after_us; now_us; denied; newer; first; bands; then; remaining;
--      current; reset_after_us
-- TTL state: until its counts are of no window that counts, 1 % and 1 s longer; pace, leases, holders, line, heartbeats: see
--      their parts
-- COST O(bands + ended leases + dead waiters), 23 us: HMGET twice, and when it took something HSET and PEXPIRE
-- What will count in a future window is not known, so that no slot can be promised.
charge.wait_us = 0
local a = {}

-- covers returns how far (us) into a window at most room of prev counts. At the end of the window none of prev counts.
local function covers(b, prev, room)
  if prev <= room then return 0 end
  return b.us - muldiv(room, b.us, prev, 0)
end

-- wait tries this window, and then the next one, where cur counts as prev does here. Nothing counts in the window after that.
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

local s = counter_read(state_key, charge.signature, charge.revision)
return admit(a, s, pace_key, charge, permit.max_concurrent > 0 and later()(permit, charge))
