-- What the scripts share that charge a limit by whatever algorithm. An algorithm is a table of functions of a state s,
-- which has s.bands: wait(s, b, cost) is how long (us) until cost fits into band b, -1 = never; view(s, b) is what is
-- spare there (negative = promised away), what counts, and how long (us) until it is as if unused; take(s, cost, ahead)
-- writes cost into every band, as of ahead us from now.

-- admit decides on a request r: cost, peek (nothing is taken), wait (us, how far away a slot may be), sig (the bands
-- that the caller knows), gate (its key), each (every band is told), and with max also seat (see prelude_seat.lua),
-- leases, holders, line, beats, id, hold_ms, session, client, instance, waiter, beat_ms, inboxes. It returns the reply
-- and whether it wrote.
local function admit(a, s, r)
  local g = gate(r.gate)
  local free, first, live = true, 0, 0
  if r.seat then free, first, live = r.seat.ask(r) end
  local retry, denied = gate_wait(g)
  local least, spare, late = 1, nil, 0
  for i = 1, #s.bands do
    local b = s.bands[i]
    local left, w = #s.bands > 1 and a.view(s, b) or 0, a.wait(s, b, r.cost)
    if not spare or left < spare then least, spare = i, left end
    if w < 0 then
      if retry >= 0 then late, retry, denied = i, -1, 'limit' end
    elseif retry >= 0 and w > retry then
      late, retry, denied = i, w, 'limit'
    end
  end
  local wrote = false
  if retry >= 0 and not free then
    retry, denied = math.max(retry, r.seat.wait(r)), 'concurrency'
    if not r.peek then r.seat.stand(r) end
  elseif r.peek or retry < 0 or retry > r.wait or r.cost == 0 then
    if r.seat and not r.peek then r.seat.leave(r, r.max - live) end
  else
    wrote = true
    a.take(s, r.cost, retry)
    gate_pass(r.gate, g, now + retry)
    if r.seat then
      r.seat.take(r, now + retry)
      r.seat.leave(r, r.max - live - 1)
    end
  end
  local at = late > 0 and late or least
  local left, used, reset = a.view(s, s.bands[at])
  if retry == 0 or wrote then denied = '' end
  local reply = {
    retry == 0 and 1 or wrote and 2 or 0, at, math.max(left, 0), used, retry, reset, now, denied, newer(s, r.sig), first, 0,
  }
  if r.each then
    reply[11] = #s.bands
    for _, b in ipairs(s.bands) do
      local k = #reply
      left, reply[k + 2], reply[k + 3] = a.view(s, b)
      reply[k + 1] = math.max(left, 0)
    end
  end
  return reply, wrote
end
