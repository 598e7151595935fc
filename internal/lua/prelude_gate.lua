-- The gate of a limit: what holds up one key whatever its algorithm is. One hash beside the state: pause (until, us)
-- and why (text); delay (us from one admission to the next), delay_ends (us) and next (us, when the next may go);
-- ends (us) is when all of it, and the penalty (see ratelimit_report.lua), is of no interest any more.
local function gate(key)
  local f = redis.call('HMGET', key, 'pause', 'delay', 'delay_ends', 'next', 'ends')
  local g = {pause = tonumber(f[1] or 0), delay = tonumber(f[2] or 0), next = tonumber(f[4] or 0), ends = tonumber(f[5] or 0)}
  if tonumber(f[3] or 0) <= now then g.delay = 0 end
  return g
end

-- gate_wait is how long the gate stays closed, us, and why; 0 when it is open.
local function gate_wait(g)
  local paused, delayed = g.pause - now, g.delay > 0 and g.next - now or 0
  if paused > 0 and paused >= delayed then return paused, 'pause' end
  if delayed > 0 then return delayed, 'delay' end
  return 0, ''
end

-- gate_keep has the gate live as long as it is of interest.
local function gate_keep(key, g)
  redis.call('HSET', key, 'ends', g.ends)
  redis.call('PEXPIRE', key, math.max(math.ceil((g.ends - now) / 1000), 0) + 1000)
end

-- gate_pass is told of each admission, and of when (us) it is.
local function gate_pass(key, g, at)
  if g.delay == 0 then return end
  g.next = math.max(g.next, at + g.delay)
  g.ends = math.max(g.ends, g.next)
  redis.call('HSET', key, 'next', g.next)
  gate_keep(key, g)
end
