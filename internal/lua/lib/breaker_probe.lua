-- A breaker's probes, which are leases: calls that a half-open breaker let through, each for a time and a session.

-- breaker_probe returns the position of a probe that was let through and has not ended, or nil.
local function breaker_probe(b, id)
  for i, probe in ipairs(b.probes) do
    if probe.id == id and probe.ends > now then return i end
  end
end

-- breaker_drop removes a probe if this session holds it; an empty session matches any. It returns 1 if it did, 0 if the probe
-- has ended, 2 if another session holds it.
local function breaker_drop(b, id, session)
  local i = breaker_probe(b, id)
  if not i then return 0 end
  if session and session ~= '' and b.probes[i].session ~= session then return 2 end
  table.remove(b.probes, i)
  return 1
end

-- breaker_hold extends a probe to end us from now, and never shortens it.
local function breaker_hold(b, id, us)
  local i = breaker_probe(b, id)
  if i then b.probes[i].ends = math.max(b.probes[i].ends, now + us) end
end

-- breaker_keep sets the end of a probe to us from now, earlier or later than before.
local function breaker_keep(b, id, us)
  local i = breaker_probe(b, id)
  if i then b.probes[i].ends = now + us end
end
