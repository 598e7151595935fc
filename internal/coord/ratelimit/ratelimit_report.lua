-- Pauses a key for what its remote server answered, and tells every sidecar. Of pauses of our own each is twice the last
-- one, once in a window: while one is in force, none is made longer but by a server that asks for it. What the server asks
-- for is kept to exactly, and doubles nothing.
-- USES clock gate
-- KEYS gate
-- ARGV hit; retry_us; base_ms; max_ms; factor; forgive_us; why; channel
-- RETURNS until_us; did; level; now_us
-- TTL gate: until nothing of it matters, and 1 s
-- COST O(sources of delays), 24 us: HMGET twice, and when it pauses HSET, PEXPIRE and PUBLISH
local f = redis.call('HMGET', gate_key, 'penalty', 'level')
local ends, level = tonumber(f[1] or 0), tonumber(f[2] or 0)
local g, till, did = gate_read(gate_key), 0, 0
if hit then
  if now >= ends + forgive_us then level = 0 end
  if retry_us > 0 then
    till = now + retry_us
  elseif ends <= now then
    level = level + 1
    till = now + math.min(math.floor(math.min(base_ms * 2 ^ (level - 1), max_ms)) * factor, max_ms * 1000)
  end
end
if till > ends then
  did = ends > now and 2 or 1
  redis.call('HSET', gate_key, 'penalty', till, 'level', level)
  g.ends = math.max(g.ends, till + forgive_us)
  if till > g.pause then
    g.pause, g.over = till, false
    redis.call('HSET', gate_key, 'pause', till, 'why', why)
  end
  gate_keep(gate_key, g)
  redis.pcall('PUBLISH', channel, table.concat({'pause ', gate_key}))
end
return {until_us = g.pause > now and g.pause or 0, did = did, level = level, now_us = now}, did > 0
