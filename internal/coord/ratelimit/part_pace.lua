-- The pace of a key: what holds its calls up whatever the algorithm is. It is one hash beside the state, with these fields:
-- pause (until when, us) and why (text); s:<source> for each source of delays (delay/ends, us); of the slowest delay that has
-- not ended, delay (us from one admission to the next) and delay_ends (us); next (us, the last admission plus the delay);
-- penalty (us, when the last pause of ratelimit_report ends) and level (how often it doubled); and ends (us), the instant
-- from which nothing in it has an effect.

-- pace_delays returns the delays that have not ended (the slowest first), the fields of those that have, and the slowest, or nil.
local function pace_delays(key)
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
  -- Sorted, since the order of a hash differs from store to store.
  table.sort(live, function(a, b)
    if a.delay ~= b.delay then return a.delay > b.delay end
    if a.ends ~= b.ends then return a.ends > b.ends end
    return a.field < b.field
  end)
  return live, dead, live[1]
end

-- pace_set_delay makes one source's delay the effective one (nil: none), and moves next with it, so that next stays the last
-- admission plus the delay, or 0 before the first admission.
local function pace_set_delay(pace, slowest)
  local delay = slowest and slowest.delay or 0
  pace.next = (pace.next > 0 and delay > 0) and pace.next - pace.delay + delay or 0
  pace.delay, pace.delay_ends = delay, slowest and slowest.ends or 0
end

-- pace_read reads the pause and the delay. over reports that the stored pause has ended, dead lists the fields of delays that have.
local function pace_read(key)
  local f = redis.call('HMGET', key, 'pause', 'delay', 'delay_ends', 'next', 'ends')
  local pace = {pause = tonumber(f[1] or 0), delay = tonumber(f[2] or 0), next = tonumber(f[4] or 0), ends = tonumber(f[5] or 0)}
  pace.delay_ends, pace.over = tonumber(f[3] or 0), f[1] and pace.pause <= now
  if f[2] and pace.delay_ends <= now then
    local _, dead, slowest = pace_delays(key)
    pace.dead = dead
    pace_set_delay(pace, slowest)
  end
  return pace
end

-- pace_wait returns how long (us) the key is held up, and by what; 0 if it is not.
local function pace_wait(pace)
  local paused, delayed = pace.pause - now, pace.delay > 0 and pace.next - now or 0
  if paused > 0 and paused >= delayed then return paused, 'pause' end
  if delayed > 0 then return delayed, 'delay' end
  return 0, ''
end

-- pace_write writes the effective delay, removes what has ended, and sets the TTL by ends.
local function pace_write(key, pace)
  if pace.over then redis.call('HDEL', key, 'pause', 'why') end
  if pace.dead and #pace.dead > 0 then redis.call('HDEL', key, unpack(pace.dead)) end
  if pace.delay > 0 then
    pace.ends = math.max(pace.ends, pace.next)
    redis.call('HSET', key, 'delay', pace.delay, 'delay_ends', pace.delay_ends, 'next', pace.next)
  else
    redis.call('HDEL', key, 'delay', 'delay_ends', 'next')
  end
  redis.call('HSET', key, 'ends', pace.ends)
  redis.call('PEXPIRE', key, math.max(math.ceil((pace.ends - now) / 1000), 0) + 1000)
end

-- pace_admit records an admission at an instant (us), from which a delay counts.
local function pace_admit(key, pace, at)
  if pace.delay > 0 then
    pace.next = math.max(pace.next, at + pace.delay)
  elseif not pace.over and not pace.dead then
    return
  end
  pace_write(key, pace)
end
