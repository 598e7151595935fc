-- What the scripts that count in two windows share. The state is one hash: v (the rule's revision), sig (its bands as text),
-- since (us: charges before it cannot be refunded), and for each band w (a window, in periods since 1970), c (what was charged
-- in it) and p (what was charged in the window before).
local function counter_fields(i) return string.format('w%d', i), string.format('c%d', i), string.format('p%d', i) end

-- counter_open moves a band on to the window that contains now, and returns now. If the clock stepped back to before the stored
-- window, the band is read as of the begin of that window.
local function counter_open(b, w, cur, prev)
  b.us = b.ms * 1000
  if b.l == 0 then b.c = 0 end
  local passed = math.floor(now / b.us) - w
  if passed == 1 then prev = cur elseif passed > 1 then prev = 0 end
  if passed > 0 then cur, w = 0, w + passed end
  b.w, b.cur, b.prev, b.at = w, cur, prev, math.max(now, w * b.us)
  return now
end

-- counter_used returns what counts in a band: the present window, and the share of the window before that the sliding window
-- still covers, rounded up.
local function counter_used(b)
  local share, rest = muldiv(b.prev, b.us - (b.at - b.w * b.us), b.us, 0)
  return b.cur + share + (rest > 0 and 1 or 0)
end

-- counter_read reads the state at key for a caller whose rule has this signature and revision. If the caller's rule is older
-- than the state's, the state's bands are used. Otherwise each of the rule's bands inherits from the stored band with the same
-- period: it has the same counts, whatever its limit is. The remaining bands are matched in order: what counts in the stored
-- band is put into the present window, as far as both bands can hold it.
local function counter_read(key, sig, revision)
  local f = redis.call('HMGET', key, 'v', 'sig', 'since', 'w1', 'c1', 'p1', 'w2', 'c2', 'p2', 'w3', 'c3', 'p3', 'w4', 'c4', 'p4')
  local v, old = tonumber(f[1] or -1), bands_of(f[2] or '')
  for i, b in ipairs(old) do
    counter_open(b, tonumber(f[3 * i + 1]), tonumber(f[3 * i + 2]), tonumber(f[3 * i + 3]))
  end
  local s = {key = key, bands = old, had = #old, sig = f[2], v = math.max(v, revision), since = tonumber(f[3] or now)}
  if f[2] == sig or revision < v then return s end
  s.sig, s.bands = sig, bands_of(sig)
  for _, same_period in ipairs({true, false}) do
    for _, b in ipairs(s.bands) do
      for _, o in ipairs(old) do
        if not b.us and not o.heir and (b.ms == o.ms or not same_period) then
          o.heir = true
          counter_open(b, math.floor(o.at / (b.ms * 1000)), 0, 0)
          b.cur, b.prev = o.cur, o.prev
          if not same_period then b.cur, b.prev, s.since = math.min(counter_used(o), o.c, b.c), 0, now end
        end
      end
    end
  end
  for _, b in ipairs(s.bands) do
    if not b.us then s.since = counter_open(b, 0, 0, 0) end
  end
  return s
end

local function counter_write(s)
  local out, ends = {'HSET', s.key, 'v', s.v, 'sig', s.sig, 'since', s.since}, 0
  for i, b in ipairs(s.bands) do
    local k = #out
    out[k + 1], out[k + 3], out[k + 5] = counter_fields(i)
    out[k + 2], out[k + 4], out[k + 6] = b.w, b.cur, b.prev
    ends = math.max(ends, (b.w + 2) * b.us)
  end
  redis.call(unpack(out))
  for i = #s.bands + 1, s.had do redis.call('HDEL', s.key, counter_fields(i)) end
  redis.call('PEXPIRE', s.key, lifetime_ms(ends - now))
end

-- counter_credit subtracts a cost that was charged at an instant (us) from the counts of its windows, and returns whether any
-- of them still counted.
local function counter_credit(key, cost, at)
  local s, found = counter_read(key, '', -1), false
  for _, b in ipairs(at >= s.since and s.bands or {}) do
    local ago = b.w - math.floor(at / b.us)
    if ago == 0 and b.cur > 0 then
      b.cur, found = math.max(b.cur - cost, 0), true
    elseif ago == 1 and b.prev > 0 then
      b.prev, found = math.max(b.prev - cost, 0), true
    end
  end
  if found then counter_write(s) end
  return found
end
