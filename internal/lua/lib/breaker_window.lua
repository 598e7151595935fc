-- A breaker's rolling window: ten slices, each a tenth of it, so that its length is exact to a tenth.

-- breaker_window returns what counts now: calls, failed calls and slow calls; and the start and the length of the current slice.
-- After the clock has stepped back, the last slice stays the current one.
local function breaker_window(b, p)
  local slice = math.ceil(p.window / 10)
  local last = b.slices[#b.slices]
  local start = math.max(math.floor(now / slice) * slice, last and last.at or 0)
  local calls, failed, slow = 0, 0, 0
  for _, s in ipairs(b.slices) do
    if s.at > start - 10 * slice then calls, failed, slow = calls + s.calls, failed + s.failed, slow + s.slow end
  end
  return calls, failed, slow, start, slice
end

-- breaker_count adds a call, and reports whether a rate is then too high.
local function breaker_count(b, p, failed, slow)
  if p.window == 0 then return false end
  local _, _, _, start, slice = breaker_window(b, p)
  local last = b.slices[#b.slices]
  if not last or last.at < start then
    last = {at = start, calls = 0, failed = 0, slow = 0}
    b.slices[#b.slices + 1] = last
  end
  last.calls, last.failed, last.slow = last.calls + 1, last.failed + (failed and 1 or 0), last.slow + (slow and 1 or 0)
  -- There are more than ten slices if the window was shorter before.
  while b.slices[1].at <= start - 10 * slice or #b.slices > 10 do table.remove(b.slices, 1) end
  local calls, bad, late = breaker_window(b, p)
  if calls < p.calls then return false end
  return p.failed > 0 and bad * 100 >= p.failed * calls or p.slowed > 0 and late * 100 >= p.slowed * calls
end
