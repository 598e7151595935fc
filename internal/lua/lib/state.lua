-- What the algorithms share that keep two numbers for each band. The state is one hash: t (when it was written, us), v
-- (the rule's revision), sig (its bands as text), from (since when, us, it is kept under these bands: what was charged
-- before is not to be found in it), last (us, see state_ahead), and for each band b.u and b.r. An algorithm a names the
-- fields in a.fields; a.inherit(new, old, t) has a band begin with what counts of another.

-- stored reads the state at key, whatever rule it was written under. A caller whose rule is older than the state's decides by
-- the state's. For any other the bands inherit by period, then what is left in order; the time since t counts at the
-- new rate. had is how many bands are there, 0 = there is no state. words are the fields' values, if they are not in a hash;
-- then there is no key.
local function stored(key, a, sig, revision, words)
  local s = {key = key, t = now, v = revision, sig = sig, bands = bands_of(sig), had = 0, from = now, last = 0, begins = true}
  local f = words or redis.call('HMGET', key, unpack(a.fields, 1, 2 * #s.bands + 5))
  if not f[1] then return s end
  local old = s.bands
  if f[3] ~= sig then
    f, old = words or redis.call('HMGET', key, unpack(a.fields)), bands_of(f[3])
  end
  for i, b in ipairs(old) do
    b.u, b.r = tonumber(f[2 * i + 4]), tonumber(f[2 * i + 5])
  end
  local v = tonumber(f[2])
  s.t, s.had, s.from, s.last = tonumber(f[1]), #old, tonumber(f[4] or now), tonumber(f[5] or 0)
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

-- state_keep writes a state that is as if unused after full us; or notes that, when it is not in a hash.
local function state_keep(a, s, full)
  if s.bare then
    s.full = full
    return
  end
  local out = {'HSET', s.key, 't', math.max(s.t, now), 'v', s.v, 'sig', s.sig}
  if s.begins then out[9], out[10] = 'from', now end
  if s.last > 0 then out[#out + 1], out[#out + 2] = 'last', s.last end
  for i, b in ipairs(s.bands) do
    local k = #out
    out[k + 1], out[k + 2], out[k + 3], out[k + 4] = a.fields[2 * i + 4], b.u, a.fields[2 * i + 5], b.r
  end
  redis.call(unpack(out))
  if s.had > #s.bands then redis.call('HDEL', s.key, unpack(a.fields, 2 * #s.bands + 6, 2 * s.had + 5)) end
  redis.call('PEXPIRE', s.key, lifetime_ms(full))
end
