-- stored reads a bucket's state with all its bands, whatever rule it was
-- written under, as charge takes it. A caller whose rule is older than the
-- state's decides by the state's. For any other the bands inherit by period,
-- then what is left in order, and the time since t counts at the new rate.
local function stored(sig, revision)
  local f = redis.call('HMGET', KEYS[1], 't', 'v', 'sig', 'u1', 'r1', 'u2', 'r2', 'u3', 'r3', 'u4', 'r4')
  local t, v, old = tonumber(f[1]), tonumber(f[2]), bands_of(f[3])
  for i = 1, #old do
    old[i].u, old[i].r = tonumber(f[2 * i + 2]), tonumber(f[2 * i + 3])
  end
  if revision < v then return {bands = old, t = t, v = v, sig = f[3], had = #old} end

  -- new gets what old had used, as far as both could hold it, and the debt
  -- beyond old's capacity whole. A carry counts only in its own unit.
  local function inherit(new, old)
    new.u = math.min(old.u, old.c, new.c) + math.max(old.u - old.c, 0)
    if new.l == old.l and new.p == old.p and new.u > 0 then new.r = old.r end
    new.from, old.to = old, new
  end

  local new = bands_of(sig)
  for _, same_period in ipairs({true, false}) do
    for i = 1, #new do
      for j = 1, #old do
        if not new[i].from and not old[j].to and (new[i].ms == old[j].ms or not same_period) then
          inherit(new[i], old[j])
        end
      end
    end
  end
  return {bands = new, t = t, v = revision, sig = sig, had = #old, changed = true}
end
