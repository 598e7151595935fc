-- What the algorithms share that keep two numbers for each band. The state is one text: t (when it was written, us), v
-- (the rule's revision), sig (its bands as text), from (since when, us, it is kept under these bands: what was charged
-- before is not to be found in it), last (us, see state_ahead), and for each band b.u and b.r. For an algorithm a,
-- a.inherit(new, old, t) has a band begin with what counts of another. It uses texts before it, unless all states are texts
-- that the script has read.

-- state_words are the words of a state's text; none, if there is no text.
local function state_words(text)
  local words = {}
  for w in string.gmatch(text or '', '%S+') do words[#words + 1] = w end
  return words
end

-- stored reads the state at key, whatever rule it was written under. A caller whose rule is older than the state's decides by
-- the state's. For any other the bands inherit by period, then what is left in order; the time since t counts at the
-- new rate. words are those of the state, if it is not at a key; then there is no key.
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

-- state_ahead notes a slot that something else than the bands is in the way of: they do not tell when it is.
local function state_ahead(s, ahead, own)
  if ahead > own then s.last = math.max(s.last, now + ahead) end
end

-- state_text is the text of a state.
local function state_text(s)
  local out = {string.format('%d %d ', math.max(s.t, now), s.v), s.sig,
    string.format(' %d %d', s.begins and now or s.from, s.last)}
  for _, b in ipairs(s.bands) do out[#out + 1] = string.format(' %d %d', b.u, b.r) end
  return table.concat(out)
end

-- state_keep writes a state that is as if unused after full us; or notes that, when it is not at a key.
local function state_keep(s, full)
  if not s.key then
    s.full = full
    return
  end
  text_set(s.key, state_text(s), lifetime_ms(full))
end
