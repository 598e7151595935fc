-- Whose turn it is in a pool. A view's line is a line as any other (see prelude_line.lua). Beside it heads has, for all lines
-- of the pool, the first waiter and until when (us) it has to have looked again: so whoever gives a member back can wake the
-- first of each line without knowing the lines. A head that is missing there looks by itself all the same. A user uses line
-- and pool before it.
local HEAD_MS = 5000

local function pool_head(pool, waiter)
  redis.call('ZADD', pool.heads, now + HEAD_MS * 1000, waiter)
  redis.call('PEXPIRE', pool.heads, HEAD_MS + 60000)
end

-- pool_leave takes a waiter out of its line, and notes who is first then. It returns whether the waiter was there.
local function pool_leave(pool, line, beats, waiter)
  if waiter == '' or redis.call('ZREM', line, waiter) == 0 then return false end
  redis.call('ZREM', pool.heads, waiter)
  local head = line_head(line, beats)
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
