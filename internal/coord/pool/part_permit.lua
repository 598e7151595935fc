-- What a permit requires of a member beside being free: it is not paused, its breaker lets the call pass, and its bucket has the cost.
-- A script uses breaker, its parts, pool_view and bucket_text before this part.

-- permit_request adds these requirements to an acquisition r (see part_pool_acquire.lua), which also has the inputs of
-- permit_acquire.lua.
local function permit_request(pool, r)
  local asks_bucket, own = r.signature ~= '', {}
  local p = r.policy ~= '' and breaker_policy(r.policy)
  for i = 1, #r.overrides, 2 do own[r.overrides[i]] = r.overrides[i + 1] end
  r.breaker_policy = p
  function r.bucket(text, id) return asks_bucket and bucket_read(text, own[id] or r.signature, r.revision) end
  function r.read(ids)
    return {
      breakers = p and redis.call('HMGET', pool.breakers, unpack(ids)),
      buckets = asks_bucket and redis.call('HMGET', r.buckets, unpack(ids)) or {},
    }
  end
  function r.judge(c, rows, i)
    view_later(c, c.pause, 'pause')
    if p then
      c.breaker_text = rows.breakers[i] or nil
      c.breaker = breaker_read(c.breaker_text)
      local at = breaker_ready(c.breaker, p)
      view_later(c, at < 0 and NEVER or at, 'open')
    end
    c.bucket = r.bucket(rows.buckets[i], c.id)
    if c.bucket then
      local us = bucket_wait(c.bucket, r.cost)
      view_later(c, us < 0 and NEVER or math.min(now + us, NEVER), 'limit')
    end
  end
end

-- permit_take passes the breaker of a candidate c and charges its bucket. m is the member that is about to be leased.
local function permit_take(pool, r, c, m)
  local p = r.breaker_policy
  if p then
    local probe
    m.policy = r.policy
    m.generation, probe = breaker_pass(c.breaker, p, r.token, r.session)
    m.probe = probe and 1 or 0
    -- The probe must not end before the lease: the report of a permit whose probe was lost would not be counted.
    if probe then breaker_hold(c.breaker, r.token, r.lease_ms * 1000) end
    breaker_save(pool.breakers, c.id, c.breaker, p, c.breaker_text or BREAKER_NEW)
  end
  if c.bucket and r.cost > 0 then bucket_charge(r.buckets, c.id, c.bucket, r.cost) end
end
