-- charging makes charge. See prelude_bucket.lua for why it is a function.
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

  -- write takes cost from every band ahead us from now (0 = now).
  local function write(cost, ahead, lag, s)
    local out, full = {'HSET', KEYS[1], 't', math.max(s.t, now), 'v', s.v, 'sig', s.sig}, 0
    for i = 1, #s.bands do
      local b, k = s.bands[i], #out
      if ahead > 0 then owe(b, ahead - lag) end
      b.u = b.u + cost
      out[k + 1], out[k + 2], out[k + 3], out[k + 4] = fields[2 * i + 2], b.u, fields[2 * i + 3], b.r
      full = math.max(full, wait_us(b, b.u, lag))
    end
    redis.call(unpack(out))
    -- Slots that were promised under other bands are not to be found in these.
    if s.changed then redis.call('HDEL', KEYS[1], 'since', unpack(fields, 2 * #s.bands + 4, 2 * s.had + 3)) end
    if ahead > 0 then redis.call('HSETNX', KEYS[1], 'since', now) end
    redis.call('PEXPIRE', KEYS[1], lifetime_ms(full))
  end

  -- charge takes cost from every band of a state, or from none: now, or at the
  -- slot that is at most wait us away. The state s is its time t, its bands, and
  -- what is written with them: v and sig; had is how many bands it had, and
  -- changed says that they were others. It returns the reply and whether it wrote.
  -- The reply's band is at most n, since the caller knows only n of its own.
  local function charge(cost, peek, wait, n, s)
    -- A clock that stepped back refills nothing until it is at t again.
    local bands, lag, d = s.bands, math.max(s.t - now, 0), math.max(now - s.t, 0)
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
    local wrote = cost > 0 and not peek and retry >= 0 and retry <= wait
    if wrote then write(cost, retry, lag, s) end
    local at = retry == 0 and least or late
    local b = bands[at]
    local reset = b.u > 0 and wait_us(b, b.u, lag) or 0
    local allowed = retry == 0 and 1 or wrote and 2 or 0
    return {allowed, math.min(at, n), math.max(b.c - b.u, 0), b.u, retry, reset, now}, wrote
  end

  return charge, fields
end
