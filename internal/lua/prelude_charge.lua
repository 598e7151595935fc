-- charging makes the algorithm of a token bucket, as admit takes it, and the fields of its state. See
-- prelude_bucket.lua for why it is a function.
local function charging()
  local fields, refill, wait_us = bucket()

  -- owe raises a band that would be empty before a slot in us to what drains
  -- until then: the charge counts from the slot on, and not before it. Any other
  -- band has at the slot just what it would have without the wait.
  local function owe(b, us)
    if muldiv(us, b.l, b.p, b.r) < b.u then return end
    local q, rest = muldiv(us, b.l, b.p, 0)
    if rest > 0 then
      b.u, b.r = q + 1, b.p - rest
    else
      b.u, b.r = q, 0
    end
  end

  local a = {}

  -- open brings the bands of a state to now. A clock that stepped back refills nothing until it is at t again.
  function a.open(s)
    s.lag = math.max(s.t - now, 0)
    for i = 1, #s.bands do refill(s.bands[i], math.max(now - s.t, 0)) end
    return s
  end

  function a.wait(s, b, cost)
    if cost > b.c then return -1 end
    return b.u + cost > b.c and wait_us(b, b.u + cost - b.c, s.lag) or 0
  end

  function a.view(s, b)
    return b.c - b.u, b.u, b.u > 0 and wait_us(b, b.u, s.lag) or 0
  end

  -- A state has its time t, its bands, and what is written with them: v and sig; had is how many bands it had, and
  -- changed says that they were others.
  function a.take(s, cost, ahead)
    local out, full = {'HSET', KEYS[1], 't', math.max(s.t, now), 'v', s.v, 'sig', s.sig}, 0
    for i = 1, #s.bands do
      local b, k = s.bands[i], #out
      if ahead > 0 then owe(b, ahead - s.lag) end
      b.u = b.u + cost
      out[k + 1], out[k + 2], out[k + 3], out[k + 4] = fields[2 * i + 2], b.u, fields[2 * i + 3], b.r
      full = math.max(full, wait_us(b, b.u, s.lag))
    end
    redis.call(unpack(out))
    -- Slots that were promised under other bands are not to be found in these.
    if s.changed then redis.call('HDEL', KEYS[1], 'since', unpack(fields, 2 * #s.bands + 4, 2 * s.had + 3)) end
    if ahead > 0 then redis.call('HSETNX', KEYS[1], 'since', now) end
    redis.call('PEXPIRE', KEYS[1], lifetime_ms(full))
  end

  return a, fields
end
