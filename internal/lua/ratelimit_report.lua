-- Pauses a key for what its remote server answered, and tells every sidecar. Of pauses of our own each is twice the last
-- one, once in a window: while one is in force, none is made longer but by a server that asks for it. What the server asks
-- for is kept to exactly, and doubles nothing.
-- USES clock once gate
-- KEYS gate (hash, see prelude_gate.lua)
-- ARGV hit (1 = the answer is one to pause for); retry_us (how long the server asks for, 0 = it does not say); base_ms (the first
--      pause); max_ms (the longest); factor (of a pause of our own, in thousandths); forgive_us (after the end of a pause, until
--      the next is a first one again); why (text); channel (of the broadcast)
-- RETURNS until_us (when the longest pause of the key ends, 0 = none is in force); did (1 = a pause began, 2 = it was prolonged,
--      0 = neither); level (pauses in a row); now_us
-- TTL gate: until nothing of it matters, and 1 s
-- COST O(sources of delays): HMGET twice, and when it pauses HSET, PEXPIRE and PUBLISH
return once(KEYS[2], ARGV[9], function()
  local hit, retry, forgive = ARGV[1] == '1', tonumber(ARGV[2]), tonumber(ARGV[6])
  local f = redis.call('HMGET', KEYS[1], 'penalty', 'level')
  local ends, level = tonumber(f[1] or 0), tonumber(f[2] or 0)
  local g, till, did = gate(KEYS[1]), 0, 0
  if hit then
    if now >= ends + forgive then level = 0 end
    if retry > 0 then
      till = now + retry
    elseif ends <= now then
      local base, most = tonumber(ARGV[3]), tonumber(ARGV[4])
      level = level + 1
      till = now + math.min(math.floor(math.min(base * 2 ^ (level - 1), most)) * tonumber(ARGV[5]), most * 1000)
    end
  end
  if till > ends then
    did = ends > now and 2 or 1
    redis.call('HSET', KEYS[1], 'penalty', till, 'level', level)
    g.ends = math.max(g.ends, till + forgive)
    if till > g.pause then
      g.pause, g.over = till, false
      redis.call('HSET', KEYS[1], 'pause', till, 'why', ARGV[7])
    end
    gate_keep(KEYS[1], g)
    redis.pcall('PUBLISH', ARGV[8], table.concat({'pause ', KEYS[1]}))
  end
  return {g.pause > now and g.pause or 0, did, level, now}, did > 0
end)
