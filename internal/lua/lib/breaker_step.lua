-- How a breaker changes its state. Nothing here writes to Redis: the script writes the record with breaker_save.

-- breaker_enter begins a state with a new generation, so that reports of calls that passed before do not count in it.
local function breaker_enter(b, state)
  b.state, b.generation, b.changed = state, b.generation + 1, now
  b.failures, b.successes, b.slices, b.probes = 0, 0, {}, {}
end

-- breaker_open opens the breaker, for twice as long each time in a row, with the jitter, but no longer than open_max.
local function breaker_open(b, p)
  b.opened = math.min(b.opened + 1, 1000000)
  local us = math.min(p.open * 2 ^ math.min(b.opened - 1, 50), p.open_max)
  b.ends = now + math.min(math.floor(us * p.jitter / 1000), p.open_max)
  breaker_enter(b, 1)
end

-- breaker_most returns how many probes may be under way: those of the policy, but no more than successes are still missing,
-- since the last of them would be reported to a breaker that is closed. It is at least 1, or a changed policy could keep the
-- breaker half open.
local function breaker_most(b, p) return math.min(p.probes, math.max(p.successes - b.successes, 1)) end

-- breaker_ready returns when (us) a call may pass, 0 = now, -1 = never, and the state as it is stored: a breaker whose open
-- time is over stays open until a call passes.
local function breaker_ready(b, p)
  if b.forced == 1 then return -1, breaker_state(b) end
  if b.forced > 1 or b.state == 0 then return 0, breaker_state(b) end
  if b.state == 1 then return b.ends > now and b.ends or 0, breaker_state(b) end
  local out, first = 0, nil
  for _, probe in ipairs(b.probes) do
    if probe.ends > now then out, first = out + 1, math.min(first or probe.ends, probe.ends) end
  end
  return out >= breaker_most(b, p) and first or 0, breaker_state(b)
end

-- breaker_pass lets a call pass for which breaker_ready returned 0. It returns the generation and whether the call is a probe,
-- which is then stored with this id and this session; an empty session means that none holds it.
local function breaker_pass(b, p, id, session)
  if b.forced > 0 or b.state == 0 then return b.generation, false end
  if b.state == 1 then breaker_enter(b, 2) end
  local out = {}
  for _, probe in ipairs(b.probes) do
    if probe.ends > now and probe.id ~= id then out[#out + 1] = probe end
  end
  out[#out + 1] = {id = id, ends = now + p.probe, session = session}
  b.probes = out
  return b.generation, true
end

-- breaker_heard counts the outcome of a call (success, failure or ignored), with its generation (0 = the current one) and the
-- id of its probe (empty = it was not a probe). It returns whether the outcome counted and whether the state changed.
local function breaker_heard(b, p, generation, id, outcome, duration_us)
  if generation ~= 0 and generation ~= b.generation or b.forced == 1 or b.forced == 3 or b.state == 1 then return false, false end
  local slow = p.slow > 0 and p.slowed > 0 and duration_us >= p.slow
  if b.state == 2 then
    local i = breaker_probe(b, id)
    if not i then return false, false end
    table.remove(b.probes, i)
    if outcome == 'ignored' then return false, false end
    if outcome == 'failure' or slow then
      breaker_open(b, p)
      return true, true
    end
    b.successes = b.successes + 1
    if b.successes < p.successes then return true, false end
    b.opened, b.ends = 0, 0
    breaker_enter(b, 0)
    return true, true
  end
  -- A closed breaker has no probes: a report with the id of a probe and without a generation is of an earlier state.
  if outcome == 'ignored' or generation == 0 and id ~= '' then return false, false end
  local bad = breaker_count(b, p, outcome == 'failure', slow)
  b.failures = outcome == 'failure' and b.failures + 1 or 0
  if b.forced > 0 or not bad and b.failures < p.failures then return true, false end
  breaker_open(b, p)
  return true, true
end
