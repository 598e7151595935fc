-- The gate of a limit: what holds up one key whatever its algorithm is. One hash beside the state: pause (until, us)
-- and why (text); s:<source> (a source's word: delay/ends, us), and of the slowest word that has not ended delay (us
-- from one admission to the next) and delay_ends (us); next (us, the last admission and delay); penalty (us, when the
-- last pause of ratelimit_report ends) and level (how often it doubled); ends (us) is when nothing of it matters any more.

-- gate_words are the words that have not ended, those that have, and the slowest of the former, or nil.
local function gate_words(key)
  local h, live, dead, slowest = redis.call('HGETALL', key), {}, {}, nil
  for i = 1, #h, 2 do
    if string.sub(h[i], 1, 2) == 's:' then
      local delay, ends = string.match(h[i + 1], '^(%d+)/(%d+)$')
      local w = {field = h[i], delay = tonumber(delay), ends = tonumber(ends)}
      if w.ends <= now then
        dead[#dead + 1] = w.field
      else
        live[#live + 1] = w
      end
    end
  end
  -- By no order of the hash's own, which is another on each store.
  table.sort(live, function(a, b)
    if a.delay ~= b.delay then return a.delay > b.delay end
    if a.ends ~= b.ends then return a.ends > b.ends end
    return a.field < b.field
  end)
  return live, dead, live[1]
end

-- gate_slow has the gate go by a word, or by none; next moves with it, so that it stays the last admission and delay, 0
-- before the first one.
local function gate_slow(g, word)
  local delay = word and word.delay or 0
  g.next = (g.next > 0 and delay > 0) and g.next - g.delay + delay or 0
  g.delay, g.delay_ends = delay, word and word.ends or 0
end

-- gate_read reads the pause and the delay of the gate at a key.
local function gate_read(key)
  local f = redis.call('HMGET', key, 'pause', 'delay', 'delay_ends', 'next', 'ends')
  local g = {pause = tonumber(f[1] or 0), delay = tonumber(f[2] or 0), next = tonumber(f[4] or 0), ends = tonumber(f[5] or 0)}
  g.delay_ends, g.over = tonumber(f[3] or 0), f[1] and g.pause <= now
  if f[2] and g.delay_ends <= now then
    local _, dead, slowest = gate_words(key)
    g.dead = dead
    gate_slow(g, slowest)
  end
  return g
end

-- gate_wait is how long the gate stays closed, us, and why; 0 when it is open.
local function gate_wait(g)
  local paused, delayed = g.pause - now, g.delay > 0 and g.next - now or 0
  if paused > 0 and paused >= delayed then return paused, 'pause' end
  if delayed > 0 then return delayed, 'delay' end
  return 0, ''
end

-- gate_keep writes what the gate goes by, removes what has ended, and has the rest live as long as it matters.
local function gate_keep(key, g)
  if g.over then redis.call('HDEL', key, 'pause', 'why') end
  if g.dead and #g.dead > 0 then redis.call('HDEL', key, unpack(g.dead)) end
  if g.delay > 0 then
    g.ends = math.max(g.ends, g.next)
    redis.call('HSET', key, 'delay', g.delay, 'delay_ends', g.delay_ends, 'next', g.next)
  else
    redis.call('HDEL', key, 'delay', 'delay_ends', 'next')
  end
  redis.call('HSET', key, 'ends', g.ends)
  redis.call('PEXPIRE', key, math.max(math.ceil((g.ends - now) / 1000), 0) + 1000)
end

-- gate_pass is told of each admission, and of when (us) it is.
local function gate_pass(key, g, at)
  if g.delay > 0 then
    g.next = math.max(g.next, at + g.delay)
  elseif not g.over and not g.dead then
    return
  end
  gate_keep(key, g)
end
