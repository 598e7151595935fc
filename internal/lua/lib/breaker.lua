-- A circuit breaker's record: one text, so that a hash field may hold one of many. As a table it has state (0 = closed,
-- 1 = open, 2 = half open), forced (0 = not, 1 = open, 2 = closed, 3 = disabled), generation (rises with every change),
-- failures (in a row while closed), successes (of probes while half open), opened (times in a row), ends (us, of being open),
-- changed (us, 0 = never), slices (of the window, oldest first: at (us), calls, failed, slow) and probes (id, ends (us),
-- session). A script that uses this part names clock before it, and breaker_window and breaker_step after it if it changes
-- the state.
local BREAKER_STATES = {[0] = 'closed', 'open', 'half_open'}
local BREAKER_FORCED = {'forced_open', 'forced_closed', 'disabled'}
-- A closed breaker's record is kept this much longer (us) than its counts matter, so that a late report is compared with its
-- own generation, and not with generation 1 of a new record.
local BREAKER_MEMORY = 86400000000

-- breaker_policy parses a policy's text; all times are us, and 0 means none for the window, its rates and slow.
local function breaker_policy(text)
  local n = {}
  for word in string.gmatch(text, '%d+') do n[#n + 1] = tonumber(word) end
  return {
    failures = n[1], successes = n[2], open = n[3], open_max = n[4], probes = n[5], probe = n[6], window = n[7],
    calls = n[8], failed = n[9], slow = n[10], slowed = n[11], jitter = n[12],
  }
end

-- BREAKER_NEW is the text of a breaker that has no record: it is closed, in generation 1.
local BREAKER_NEW = '0 0 1 0 0 0 0 0 0 0 '

-- breaker_read parses a record; without a text it returns that of BREAKER_NEW.
local function breaker_read(text)
  local state, forced, generation, failures, successes, opened, ends, changed, slices, probes, at =
    string.match(text or BREAKER_NEW, '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) ()')
  local b = {
    state = tonumber(state), forced = tonumber(forced), generation = tonumber(generation), failures = tonumber(failures),
    successes = tonumber(successes), opened = tonumber(opened), ends = tonumber(ends), changed = tonumber(changed),
    slices = {}, probes = {},
  }
  for i = 1, tonumber(slices) do
    local when, calls, failed, slow, next_at = string.match(text, '^(%d+) (%d+) (%d+) (%d+) ()', at)
    b.slices[i], at = {at = tonumber(when), calls = tonumber(calls), failed = tonumber(failed), slow = tonumber(slow)}, next_at
  end
  local function bytes()
    local length, from = string.match(text, '^(%d+):()', at)
    at = from + tonumber(length) + 1
    return string.sub(text, from, at - 2)
  end
  for i = 1, tonumber(probes) do
    local probe_ends, next_at = string.match(text, '^(%d+) ()', at)
    at = next_at
    b.probes[i] = {ends = tonumber(probe_ends), id = bytes(), session = bytes()}
  end
  return b
end

-- breaker_text returns the text that breaker_read parses.
local function breaker_text(b)
  local out = {string.format('%d %d %d %d %d %d %d %d %d %d ', b.state, b.forced, b.generation,
    b.failures, b.successes, b.opened, b.ends, b.changed, #b.slices, #b.probes)}
  for _, s in ipairs(b.slices) do
    out[#out + 1] = string.format('%d %d %d %d ', s.at, s.calls, s.failed, s.slow)
  end
  for _, p in ipairs(b.probes) do
    out[#out + 1] = string.format('%d %d:', p.ends, #p.id)
    out[#out + 1] = p.id
    out[#out + 1] = string.format(' %d:', #p.session)
    out[#out + 1] = p.session
    out[#out + 1] = ' '
  end
  return table.concat(out)
end

-- breaker_state returns the state's name on the wire.
local function breaker_state(b) return BREAKER_FORCED[b.forced] or BREAKER_STATES[b.state] end

-- breaker_live_ms returns how long a record has to be kept; -1 = without an end, since its state is forced.
local function breaker_live_ms(b, p)
  if b.forced > 0 then return -1 end
  local ends = b.state == 1 and b.ends or now
  for _, probe in ipairs(b.probes) do ends = math.max(ends, probe.ends) end
  return math.ceil((math.max(ends - now, 0) + BREAKER_MEMORY + p.open_max + p.window) / 1000)
end
