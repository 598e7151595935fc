-- What the scripts share that charge a limit by whatever algorithm. An algorithm is a table of functions of a state s,
-- which has s.bands: wait(s, b, cost) is how long (us) until cost fits into band b, -1 = never; view(s, b) is what is
-- spare there (negative = promised away), what counts, and how long (us) until it is as if unused; take(s, cost, ahead)
-- writes cost into every band, as of ahead us from now.

-- admit decides on a request r: cost, peek (nothing is taken), wait (us, how far away a slot may be), n (the bands
-- that the caller knows), gate (its key), each (every band is told), and with max also leases, holders, line, beats,
-- id, hold_ms, session, client, instance, waiter, beat_ms, inboxes. It returns the reply and whether it wrote.
local function admit(a, s, r)
  local g = gate(r.gate)
  local free, first, live = seat(r)
  local retry, denied = gate_wait(g)
  local least, spare, late = 1, nil, 0
  for i = 1, #s.bands do
    local b = s.bands[i]
    local left, w = a.view(s, b), a.wait(s, b, r.cost)
    if not spare or left < spare then least, spare = i, left end
    if w < 0 then
      if retry >= 0 then late, retry, denied = i, -1, 'limit' end
    elseif retry >= 0 and w > retry then
      late, retry, denied = i, w, 'limit'
    end
  end
  local wrote = false
  if retry >= 0 and not free then
    retry, denied = math.max(retry, seat_wait(r)), 'concurrency'
    if not r.peek then stand(r) end
  elseif r.peek or retry < 0 or retry > r.wait or r.cost == 0 then
    if not r.peek then leave(r, r.max and r.max - live or 0) end
  else
    wrote = true
    a.take(s, r.cost, retry)
    gate_pass(r.gate, g, now + retry)
    if r.max then
      leases_take(r.leases, r.holders, r.id, now + retry + r.hold_ms * 1000, r.session, r.client, r.instance)
    end
    leave(r, r.max and r.max - live - 1 or 0)
  end
  local at = late > 0 and late or least
  local left, used, reset = a.view(s, s.bands[at])
  if retry == 0 or wrote then denied = '' end
  local reply = {retry == 0 and 1 or wrote and 2 or 0, math.min(at, r.n), math.max(left, 0), used, retry, reset, now, denied, first, 0}
  if r.each then
    reply[10] = #s.bands
    for _, b in ipairs(s.bands) do
      local k = #reply
      left, reply[k + 2], reply[k + 3] = a.view(s, b)
      reply[k + 1] = math.max(left, 0)
    end
  end
  return reply, wrote
end
