-- A circuit breaker's record: one text, so that a hash field may hold one of many. As a table it has state (0 = closed,
-- 1 = open, 2 = half open), forced (0 = not, 1 = open, 2 = closed, 3 = disabled), generation (rises with every change),
-- failures (in a row while closed), successes (of probes while half open), opened (times in a row), ends (us, of being open),
-- changed (us, 0 = never), slices (of the window, oldest first: at (us), calls, failed, slow) and probes (id, ends (us),
-- session). A user of this part also uses clock before it, and then breaker_window and breaker_step for what moves it.
local BREAKER_STATES = {[0] = 'closed', 'open', 'half_open'}
local BREAKER_FORCED = {'forced_open', 'forced_closed', 'disabled'}
-- What is closed is remembered this much longer (us) than what it counts matters: so a report that comes late meets its
-- generation, and not the first one again.
local BREAKER_MEMORY = 86400000000

-- breaker_policy reads a policy's text; all times are us, and 0 is none for the window, its rates and slow.
local function breaker_policy(text)
  local n = {}
  for word in string.gmatch(text, '%d+') do n[#n + 1] = tonumber(word) end
  return {
    failures = n[1], successes = n[2], open = n[3], open_max = n[4], probes = n[5], probe = n[6], window = n[7],
    calls = n[8], failed = n[9], slow = n[10], slowed = n[11], jitter = n[12],
  }
end

-- breaker_read reads a record; what is absent is closed, in generation 1.
local function breaker_read(text)
  if not text then
    return {state = 0, forced = 0, generation = 1, failures = 0, successes = 0, opened = 0, ends = 0, changed = 0, slices = {}, probes = {}}
  end
  local n, at = {}, 1
  local function number()
    local digits, next_at = string.match(text, '^(%d+)[ :]()', at)
    at = next_at
    return tonumber(digits)
  end
  local function bytes()
    local length = number()
    at = at + length + 1
    return string.sub(text, at - length - 1, at - 2)
  end
  for i = 1, 10 do n[i] = number() end
  local b = {
    state = n[1], forced = n[2], generation = n[3], failures = n[4], successes = n[5], opened = n[6], ends = n[7],
    changed = n[8], slices = {}, probes = {},
  }
  for i = 1, n[9] do b.slices[i] = {at = number(), calls = number(), failed = number(), slow = number()} end
  for i = 1, n[10] do b.probes[i] = {ends = number(), id = bytes(), session = bytes()} end
  return b
end

-- breaker_text is what breaker_read reads. A breaker of which nothing is known has the text of breaker_read(nil).
local function breaker_text(b)
  local out = {string.format('%.0f %.0f %.0f %.0f %.0f %.0f %.0f %.0f %.0f %.0f ', b.state, b.forced, b.generation,
    b.failures, b.successes, b.opened, b.ends, b.changed, #b.slices, #b.probes)}
  for _, s in ipairs(b.slices) do
    out[#out + 1] = string.format('%.0f %.0f %.0f %.0f ', s.at, s.calls, s.failed, s.slow)
  end
  for _, p in ipairs(b.probes) do
    out[#out + 1] = string.format('%.0f %.0f:', p.ends, #p.id)
    out[#out + 1] = p.id
    out[#out + 1] = string.format(' %.0f:', #p.session)
    out[#out + 1] = p.session
    out[#out + 1] = ' '
  end
  return table.concat(out)
end

-- breaker_state is the state's name on the wire.
local function breaker_state(b) return BREAKER_FORCED[b.forced] or BREAKER_STATES[b.state] end

-- breaker_live_ms is how long a record matters; -1 = without an end, since it is forced.
local function breaker_live_ms(b, p)
  if b.forced > 0 then return -1 end
  local ends = b.state == 1 and b.ends or now
  for _, probe in ipairs(b.probes) do ends = math.max(ends, probe.ends) end
  return math.ceil((math.max(ends - now, 0) + BREAKER_MEMORY + p.open_max + p.window) / 1000)
end
