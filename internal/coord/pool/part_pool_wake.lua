-- The first waiters of a pool. Each view has a waiting line (see lib/line.lua). heads is a sorted set of the first waiter of each line
-- of the pool, by when (us) its entry ends unless it asks again. So a script that gives a member back can wake the first waiter of each
-- line without the keys of the lines. A first waiter that is not in heads asks again by itself. A script uses line and pool before this
-- part.
local HEAD_MS = 5000

-- pool_head enters the first waiter of a line into heads.
local function pool_head(pool, waiter)
  redis.call('ZADD', pool.heads, now + HEAD_MS * 1000, waiter)
  redis.call('PEXPIRE', pool.heads, HEAD_MS + 60000)
end

-- pool_leave removes a waiter from its line, and enters the new first one into heads. It returns whether the waiter was in the line.
local function pool_leave(pool, line, heartbeats, waiter)
  if waiter == '' or redis.call('ZREM', line, waiter) == 0 then return false end
  redis.call('ZREM', pool.heads, waiter)
  local head = line_head(line, heartbeats)
  if head and head ~= '' then pool_head(pool, head) end
  return true
end

-- pool_wake wakes the first waiter of each line, at most 100. It must be the last step of a script.
local function pool_wake(pool, inboxes)
  redis.call('ZREMRANGEBYSCORE', pool.heads, '-inf', now)
  for _, head in ipairs(redis.call('ZREVRANGE', pool.heads, 0, 99)) do
    redis.pcall('PUBLISH', table.concat({inboxes, sidecar_of(head)}), head)
  end
end
