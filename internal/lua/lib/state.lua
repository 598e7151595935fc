-- The state of algorithms that keep two numbers for each band. It is one text: t (when it was written, us), v (the rule's
-- revision), sig (its bands as text), from (since when, us, it is kept under these bands: it does not contain earlier
-- charges), last (us, see state_ahead), and for each band b.u and b.r. For an algorithm a, a.inherit(new, old, t) makes the
-- band new begin with what still counts of the band old. The part texts must come before this one, unless the script passes
-- all states as texts.

-- state_words returns the words of a state's text; none, if there is no text.
local function state_words(text)
  local words = {}
  for w in string.gmatch(text or '', '%S+') do words[#words + 1] = w end
  return words
end

-- stored reads the state at key, whichever revision of the rule has written it. If the caller's rule is older than the
-- state's, the state's bands decide. If it is newer and has other bands, these inherit from the old ones, first those of the
-- same period, then the rest in order; the time since t counts at the new rate. For a state that is not at a key of its own,
-- key is nil and words are those of its text.
local function stored(key, a, sig, revision, words)
  local s = {key = key, t = now, v = revision, sig = sig, bands = bands_of(sig), from = now, last = 0, begins = true}
  local f = words or state_words(text_get(key))
  if not f[1] then return s end
  if not f[5] then error('WRONGTYPE the key holds no state') end
  local old = s.bands
  if f[3] ~= sig then old = bands_of(f[3]) end
  for i, b in ipairs(old) do
    b.u, b.r = tonumber(f[2 * i + 4]), tonumber(f[2 * i + 5])
  end
  local v = tonumber(f[2])
  s.t, s.from, s.last = tonumber(f[1]), tonumber(f[4]), tonumber(f[5])
  if f[3] == sig or revision < v then
    s.v, s.sig, s.bands, s.begins = math.max(v, revision), f[3], old, false
    return s
  end
  for _, same_period in ipairs({true, false}) do
    for _, to in ipairs(s.bands) do
      for _, from in ipairs(old) do
        if not to.heir and not from.gone and (to.ms == from.ms or not same_period) then
          a.inherit(to, from, s.t)
          to.heir, from.gone = true, true
        end
      end
    end
  end
  return s
end

-- state_ahead records in last a slot that is later than the bands require (own), since the bands do not contain its time.
local function state_ahead(s, ahead, own)
  if ahead > own then s.last = math.max(s.last, now + ahead) end
end

-- state_text returns the text of a state.
local function state_text(s)
  local out = {string.format('%d %d ', math.max(s.t, now), s.v), s.sig,
    string.format(' %d %d', s.begins and now or s.from, s.last)}
  for _, b in ipairs(s.bands) do out[#out + 1] = string.format(' %d %d', b.u, b.r) end
  return table.concat(out)
end

-- state_keep writes a state that is as if unused after full us. If the state is not at a key, it only sets s.full.
local function state_keep(s, full)
  if not s.key then
    s.full = full
    return
  end
  text_set(s.key, state_text(s), lifetime_ms(full))
end
