-- What the scripts share that charge a limit by whatever algorithm. An algorithm is a table of functions of a state s,
-- which has s.bands: wait(s, b, cost) is how long (us) until cost fits into band b, -1 = never; view(s, b) is what is
-- spare there (negative = promised away), what counts, and how long (us) until it is as if unused; take(s, cost, ahead)
-- writes cost into every band, as of ahead us from now.

-- band_views are how all bands stand, for the reply.
local function band_views(a, s)
  local views = {}
  for i, b in ipairs(s.bands) do
    local left, used, reset = a.view(s, b)
    views[i] = {remaining = math.max(left, 0), current = used, reset_after_us = reset}
  end
  return views
end

-- admit decides on a charge (Charge in scripts.go). With max_concurrent permit is what part_permit.lua makes; g is the gate, if
-- it was read before. It returns the script's outputs and whether it wrote.
local function admit(a, s, gate_key, charge, permit, g)
  local cost, peek = charge.cost, charge.peek > 0
  g = g or gate_read(gate_key)
  local free, first, spare_permits = true, false, 0
  if permit then free, first, spare_permits = permit.check() end
  local retry, denied = gate_wait(g)
  local least, spare, late = 1, nil, 0
  for i = 1, #s.bands do
    local b = s.bands[i]
    local left, w = #s.bands > 1 and a.view(s, b) or 0, a.wait(s, b, cost)
    if not spare or left < spare then least, spare = i, left end
    if w < 0 then
      if retry >= 0 then late, retry, denied = i, -1, 'limit' end
    elseif retry >= 0 and w > retry then
      late, retry, denied = i, w, 'limit'
    end
  end
  local wrote = false
  if retry >= 0 and not free then
    retry, denied = math.max(retry, permit.retry_after()), 'concurrency'
    if not peek then permit.wait_in_line() end
  elseif peek or retry < 0 or retry > charge.wait_us or cost == 0 then
    if permit and not peek then permit.leave_line(spare_permits) end
  else
    wrote = true
    a.take(s, cost, retry)
    gate_pass(gate_key, g, now + retry)
    if permit then
      permit.grant(now + retry)
      permit.leave_line(spare_permits - 1)
    end
  end
  local at = late > 0 and late or least
  local left, used, reset = a.view(s, s.bands[at])
  if retry == 0 or wrote then denied = '' end
  return {
    allowed = retry == 0 and 1 or wrote and 2 or 0, band = at, remaining = math.max(left, 0), current = used,
    retry_after_us = retry, reset_after_us = reset, now_us = now, denied = denied, newer = newer(s, charge.signature),
    first = first, bands = charge.peek == 2 and band_views(a, s) or nil,
  }, wrote
end
