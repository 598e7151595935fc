-- What all scripts that charge a limit share. An algorithm is a table of functions of a state s with s.bands:
-- wait(s, b, cost) returns how long (us) until cost fits into band b, -1 = never; view(s, b) returns how much is free there
-- (negative = more is promised), how much is used, and how long (us) until it is as if unused; take(s, cost, ahead) charges
-- cost to every band, as of ahead us from now, and writes the state.

-- band_views returns the state of each band, for the reply.
local function band_views(a, s)
  local views = {}
  for i, b in ipairs(s.bands) do
    local left, used, reset = a.view(s, b)
    views[i] = {remaining = math.max(left, 0), current = used, reset_after_us = reset}
  end
  return views
end

-- admit decides on a charge (Charge in scripts.go). permit is made by part_permit.lua if the rule has max_concurrent; pace is
-- the result of pace_read, nil = admit reads it. It returns the script's outputs and whether it wrote.
local function admit(a, s, pace_key, charge, permit, pace)
  local cost, peek = charge.cost, charge.peek > 0
  pace = pace or pace_read(pace_key)
  local free, first, spare_permits = true, false, 0
  if permit then free, first, spare_permits = permit.check() end
  local retry, denied = pace_wait(pace)
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
    pace_admit(pace_key, pace, now + retry)
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
