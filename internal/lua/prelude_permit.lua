-- What a permit asks of a member besides: that it is not paused, its breaker and its bucket. A user uses breaker, its parts,
-- pool_view and bucket_text before it.

-- permit_request has an acquisition (see prelude_pool_acquire.lua) ask for it.
local function permit_request(r, buckets)
  local revision, sig, list, own = tonumber(ARGV[12]), ARGV[13], pool_texts(ARGV[14], 1), {}
  r.cost, r.buckets, r.policy = tonumber(ARGV[11]), buckets, ARGV[15]
  for i = 1, #list, 2 do own[list[i]] = list[i + 1] end
  r.p = r.policy ~= '' and breaker_policy(r.policy)
  function r.bucket(text, id) return sig ~= '' and bucket_read(text, own[id] or sig, revision) end
  function r.read(ids)
    return {
      breakers = r.p and redis.call('HMGET', BREAKERS, unpack(ids)),
      buckets = sig ~= '' and redis.call('HMGET', buckets, unpack(ids)) or {},
    }
  end
  function r.judge(c, rows, i)
    view_later(c, c.pause, 'pause')
    if r.p then
      c.breaker = rows.breakers[i] or nil
      c.b = breaker_read(c.breaker)
      local at = breaker_ready(c.b, r.p)
      view_later(c, at < 0 and NEVER or at, 'open')
    end
    c.s = r.bucket(rows.buckets[i], c.id)
    if c.s then
      local us = bucket_wait(c.s, r.cost)
      view_later(c, us < 0 and NEVER or math.min(now + us, NEVER), 'limit')
    end
  end
  return r
end

-- permit_take passes the breaker of a candidate c and charges its bucket.
local function permit_take(r, c, m)
  if r.p then
    m.policy = r.policy
    m.generation, m.probe = breaker_pass(c.b, r.p, r.token, r.session)
    -- It lives with the permit, whose report would else count for nothing.
    if m.probe == 1 then breaker_hold(c.b, r.token, r.lease) end
    breaker_save(BREAKERS, c.id, c.b, r.p, c.breaker or breaker_text(breaker_read(nil)))
  end
  if c.s and r.cost > 0 then bucket_charge(r.buckets, c.id, c.s, r.cost) end
end
