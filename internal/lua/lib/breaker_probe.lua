-- A breaker's probes, which are leases: calls that a half-open breaker let through, each for a time and a session.

-- breaker_probe is the place of a probe that is out and not lost, or nil.
local function breaker_probe(b, id)
  for i, probe in ipairs(b.probes) do
    if probe.id == id and probe.ends > now then return i end
  end
end

-- breaker_drop gives a probe back if this session has it; an empty session matches any. It returns 1 if it did, 0 if the probe
-- was lost, 2 if another session has it.
local function breaker_drop(b, id, session)
  local i = breaker_probe(b, id)
  if not i then return 0 end
  if session and session ~= '' and b.probes[i].session ~= session then return 2 end
  table.remove(b.probes, i)
  return 1
end

-- breaker_hold extends a probe to us from now on, and never shortens it.
local function breaker_hold(b, id, us)
  local i = breaker_probe(b, id)
  if i then b.probes[i].ends = math.max(b.probes[i].ends, now + us) end
end

-- breaker_keep has a probe end us from now on, earlier or later than before.
local function breaker_keep(b, id, us)
  local i = breaker_probe(b, id)
  if i then b.probes[i].ends = now + us end
end
