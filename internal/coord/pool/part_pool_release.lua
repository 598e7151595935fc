-- How a member is given back. A script uses line, breaker_probe, breaker_store, pool, pool_wake, pool_lease and pool_probe before this
-- part.

-- How long (us) a member cools down after a failure of each kind: the first time, and at most. Each further failure in a row
-- doubles the time.
local BACKOFF = {
  soft_block = {30000000, 3600000000}, captcha = {120000000, 21600000000}, hard_block = {300000000, 86400000000},
  fail = {10000000, 1800000000}, transport = {1000000, 60000000},
}

-- pool_judged counts an outcome in the member and returns how long (us) the member cools down for it. Failures of the transport
-- are not the member's own: they have a count of their own (slips).
local function pool_judged(m, outcome, unban_ms)
  if outcome == 'ok' then m.failures, m.slips = 0, 0 end
  if outcome == 'ban' and m.ban >= 0 then m.ban = unban_ms > 0 and math.max(m.ban, now + unban_ms * 1000) or -1 end
  local backoff = BACKOFF[outcome]
  if not backoff then return 0 end
  local row
  if outcome == 'transport' then
    m.slips = math.min(m.slips + 1, 1000000)
    row = m.slips
  else
    m.failures = math.min(m.failures + 1, 1000000)
    row = m.failures
  end
  return math.min(backoff[1] * 2 ^ math.min(row - 1, 50), backoff[2])
end

-- pool_became returns the state of a member that is not leased, and when (us) that state ends: 0 = the member is free, -1 = never.
local function pool_became(ban, cool)
  if ban < 0 then return 'banned', -1 end
  if ban > now then return 'banned', math.max(ban, cool) end
  if cool > now then return 'cooling', cool end
  return 'free', 0
end

-- pool_release gives a member back. r is a table with the inputs of pool_release.lua. If also is given, it is called with the member's
-- id and the member before the member is stored, and is responsible for the breaker; it returns when (us) breaker and pause allow the
-- member again, in the form of pool_became. pool_release returns the reply.
local function pool_release(pool, r, also)
  local token = r.token
  local id, m = pool_lease(pool, token, r.member)
  local state, became, next_at = pool_state(m, token, r.session), '', 0
  if state == 1 then
    local last, cool = pool_used(redis.call('HGET', r.used, id), m.born, m.era)
    local us, other = math.max(pool_judged(m, r.outcome, r.unban_ms), r.cooldown_ms * 1000), 0
    if us > 0 then cool = math.max(cool, now + us) end
    if also then
      other = also(id, m)
    else
      pool_probe(pool, id, m, breaker_drop, '')
    end
    m.last, m.token, m.ends, m.probe, m.session, m.client, m.instance, m.policy = token, '', 0, 0, '', '', '', ''
    redis.call('HSET', pool.members, id, pool_text(m))
    redis.call('HDEL', pool.tokens, token)
    if us > 0 then pool_use(r.used, id, last, cool, m.era) end
    pool_changed(pool, id)
    became, next_at = pool_became(m.ban, cool)
    if next_at >= 0 then next_at = other < 0 and other or math.max(next_at, other) end
  end
  local left = pool_leave(pool, r.line, r.heartbeats, r.waiter)
  if state == 1 or left then pool_wake(pool, r.inboxes) end
  return {state = state, id = id, became = became, next_ms = next_at > 0 and math.ceil(next_at / 1000) or next_at}
end
