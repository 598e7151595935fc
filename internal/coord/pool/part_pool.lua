-- What the scripts of pools share. The table pool has the keys of a pool: order (sorted set, member by when it was added), meta (hash),
-- changes (sorted set, member by the number of its last change, which views follow, see part_pool_view.lua), members (hash, a text for
-- each member, see below), tokens (hash, the member of each lease by token), state (hash: fence, the last fence, and change, the number
-- of the last change), heads (sorted set, see part_pool_wake.lua) and breakers (hash, see lib/breaker.lua). heads and breakers have a
-- TTL. The others have none, and are bounded by the number of members.
--
-- A member's text is numbers: born (the change that made it), ends (us, of its lease), ban (until, us, -1 = without an end), pause
-- (until, us), era (the change since which its cooldowns count), fence and since (us, of the last lease), prev (when it was last used
-- in the scope before that, us), failures, and slips (failures of the transport; both in a row), probe (1 = the lease holds a probe of
-- the breaker) and generation (of the breaker); and then texts, each after its length: token (of the lease, empty = released), last
-- (the token that was released last), session, client, instance and policy (of the breaker, empty = not asked). A script uses unpacked
-- before this part, unless one of its inputs is a list: then it has unpacked already.

-- pool_times returns the numbers that decide whether a member is free: born, ends, ban, pause and era.
local function pool_times(text)
  local born, ends, ban, pause, era = string.match(text, '^(%d+) (%d+) (-?%d+) (%d+) (%d+) ')
  return tonumber(born), tonumber(ends), tonumber(ban), tonumber(pause), tonumber(era)
end

local function pool_read(text)
  local m, n, at = {}, {string.match(text,
    '^(%d+) (%d+) (-?%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) ()')}, nil
  for i = 1, 13 do n[i] = tonumber(n[i]) end
  m.born, m.ends, m.ban, m.pause, m.era, m.fence, m.since, m.prev, m.failures, m.slips, m.probe, m.generation, at = unpack(n)
  m.token, m.last, m.session, m.client, m.instance, m.policy = unpack(unpacked(text, at))
  return m
end

local function pool_text(m)
  local out = {string.format('%d %d %d %d %d %d %d %d %d %d %d %d ', m.born, m.ends, m.ban, m.pause,
    m.era, m.fence, m.since, m.prev, m.failures, m.slips, m.probe, m.generation)}
  for _, s in ipairs({m.token, m.last, m.session, m.client, m.instance, m.policy}) do
    out[#out + 1] = string.format('%d:', #s)
    out[#out + 1] = s
  end
  return table.concat(out)
end

-- pool_used returns what a scope stores of a member: its last use (us, 0 = none) and its cooldown (until, us). It ignores what was
-- stored of a removed member with the same id, and a cooldown from before the member's ban was lifted.
local function pool_used(text, born, era)
  if not text then return 0, 0 end
  local last, cool, since = string.match(text, '^(%d+) (%d+) (%d+)$')
  since = tonumber(since)
  if since < born then return 0, 0 end
  return tonumber(last), since == era and tonumber(cool) or 0
end

-- pool_use stores what pool_used returns. The TTL of the hash is at least a day, and ends at least 1 s after every cooldown in it.
local function pool_use(used, id, last, cool, era)
  redis.call('HSET', used, id, string.format('%d %d %d', last, cool, era))
  redis.call('PEXPIRE', used, math.max(redis.call('PTTL', used), math.ceil((cool - now) / 1000) + 1000, 86400000))
end

-- pool_changed makes all views look at a member again, which may be possible earlier than they have it.
local function pool_changed(pool, id)
  redis.call('ZADD', pool.changes, redis.call('HINCRBY', pool.state, 'change', 1), id)
end
