-- The view of a breaker that is returned to calls that only read it. A script uses breaker, breaker_window and breaker_step before this
-- part.

-- breaker_view returns the outputs of breaker_get.lua.
local function breaker_view(b, p)
  local probes, first, calls, failed, slow = 0, nil, 0, 0, 0
  for _, probe in ipairs(b.probes) do
    if probe.ends > now then probes, first = probes + 1, math.min(first or probe.ends, probe.ends) end
  end
  if p.window > 0 then calls, failed, slow = breaker_window(b, p) end
  local at = breaker_ready(b, p)
  return {
    state = breaker_state(b), generation = b.generation, failures = b.failures, successes = b.successes, probes = probes,
    open_us = b.state == 1 and math.max(b.ends - now, 0) or 0, opened = b.opened, calls = calls, failed = failed, slow = slow,
    changed_us = b.changed, forced = b.forced > 0, retry_us = at > 0 and at - now or at, most = breaker_most(b, p),
    probe_us = first and first - now or 0,
  }
end
