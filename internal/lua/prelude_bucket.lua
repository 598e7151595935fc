-- What the token buckets share. The state is one hash: t (when, us), v (the
-- rule's revision), sig (its bands as text), and for each band u (used) and
-- r (the carry: p-ths of a token refilled beyond u, so the exact level is
-- u - r / p). A band here is a table c, l, p, u, r: l tokens per p us.

-- lifetime_ms of a state that is as if unused after us: 1 % and 1 s longer, so
-- that clocks which differ a little never forget a debt.
local function lifetime_ms(us)
  return math.ceil(us / 1000) + math.ceil(us / 100000) + 1000
end

-- bucket makes charge, and the fields of a state in order. It is a function
-- because making these takes a tenth of the lean script's time, which it can
-- nearly always save.
local function bucket()
  local fields = {'t', 'v', 'sig', 'u1', 'r1', 'u2', 'r2', 'u3', 'r3', 'u4', 'r4'}

  -- refill lets d microseconds pass. A limit of 0 never refills, so its capacity
  -- counts as 0 and nothing is ever stored for it.
  local function refill(b, d)
    if b.l == 0 then
      b.c, b.u, b.r = 0, 0, 0
    elseif d * b.l >= (b.u + 1) * b.p * 1.000001 then
      -- Far beyond empty, where rounding cannot matter and muldiv would round.
      b.u, b.r = 0, 0
    else
      local g, r = muldiv(d, b.l, b.p, b.r)
      b.u, b.r = b.u - g, r
      if b.u <= 0 then b.u, b.r = 0, 0 end
    end
  end

  -- wait_us is how long x tokens take to refill, rounded up, when that starts
  -- lag us from now; at most 2^53 - 1.
  local function wait_us(b, x, lag)
    local q, rest = muldiv(x, b.p, b.l, 0)
    return math.min(q + math.ceil((rest - b.r) / b.l) + lag, 9007199254740991)
  end

  -- charge takes cost from every band of a state of time t, or from none; then it
  -- writes the state under revision v and sig, dropping the fields of bands past
  -- the last up to the had-th. It returns the reply and whether it wrote; the
  -- band is at most n, since the caller knows only n of its own.
  local function charge(cost, peek, n, bands, t, v, sig, had)
    -- A clock that stepped back refills nothing until it is at t again.
    local lag, d = math.max(t - now, 0), math.max(now - t, 0)
    local least, late, retry = 1, 0, 0
    for i = 1, #bands do
      local b = bands[i]
      refill(b, d)
      if b.c - b.u < bands[least].c - bands[least].u then least = i end
      if cost > b.c then
        if retry >= 0 then late, retry = i, -1 end
      elseif retry >= 0 and b.u + cost > b.c then
        local w = wait_us(b, b.u + cost - b.c, lag)
        if w > retry then late, retry = i, w end
      end
    end
    local allowed, wrote = retry == 0, retry == 0 and cost > 0 and not peek
    if wrote then
      local out, full = {'HSET', KEYS[1], 't', t + d, 'v', v, 'sig', sig}, 0
      for i = 1, #bands do
        local b, k = bands[i], #out
        b.u = b.u + cost
        out[k + 1], out[k + 2], out[k + 3], out[k + 4] = fields[2 * i + 2], b.u, fields[2 * i + 3], b.r
        full = math.max(full, wait_us(b, b.u, lag))
      end
      redis.call(unpack(out))
      if had > #bands then redis.call('HDEL', KEYS[1], unpack(fields, 2 * #bands + 4, 2 * had + 3)) end
      redis.call('PEXPIRE', KEYS[1], lifetime_ms(full))
    end
    local at = allowed and least or late
    local b = bands[at]
    local reset = b.u > 0 and wait_us(b, b.u, lag) or 0
    return {allowed and 1 or 0, math.min(at, n), math.max(b.c - b.u, 0), b.u, retry, reset, now}, wrote
  end

  return charge, fields
end
