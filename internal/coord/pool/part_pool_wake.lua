-- Whose turn it is in a pool. Each view has a waiting line (see lib/line.lua). heads has the first waiter of each line of
-- the pool, by when (us) it must have asked again. So a script that gives a member back wakes the first of each line without
-- knowing the lines. A first waiter that is not in heads asks again by itself. A user uses line and pool before it.
local HEAD_MS = 5000

-- pool_head notes the first waiter of a line.
local function pool_head(pool, waiter)
  redis.call('ZADD', pool.heads, now + HEAD_MS * 1000, waiter)
  redis.call('PEXPIRE', pool.heads, HEAD_MS + 60000)
end

-- pool_leave takes a waiter out of its line, and notes who is first then. It returns whether the waiter was there.
local function pool_leave(pool, line, heartbeats, waiter)
  if waiter == '' or redis.call('ZREM', line, waiter) == 0 then return false end
  redis.call('ZREM', pool.heads, waiter)
  local head = line_head(line, heartbeats)
  if head and head ~= '' then pool_head(pool, head) end
  return true
end

-- pool_wake tells the first of each line, at most 100, that it is its turn. It has to be the last thing that a script does.
local function pool_wake(pool, inboxes)
  redis.call('ZREMRANGEBYSCORE', pool.heads, '-inf', now)
  for _, head in ipairs(redis.call('ZREVRANGE', pool.heads, 0, 99)) do
    redis.pcall('PUBLISH', table.concat({inboxes, sidecar_of(head)}), head)
  end
end
