-- The waiting line. It is a sorted set of waiters by ticket, first come first; a
-- second sorted set, heartbeats, has for each sidecar until when (us) it counts as
-- alive. A waiter is <sidecar>:<n>. Both keys are written together and share one
-- TTL, longer than any heartbeat.
local LINE_MS = 60000

local function sidecar_of(waiter)
  return string.sub(waiter, 1, (string.find(waiter, ':', 1, true) or 1) - 1)
end

-- line_head returns the first waiter whose sidecar is alive, and until when that
-- sidecar counts as alive. It removes the waiters before it, at most 1,000 in one
-- run: if it has removed that many, it returns '' as the waiter, whose first one is
-- then not determined. It returns nil if the line is empty.
local function line_head(line, heartbeats)
  local first = redis.call('ZRANGE', line, 0, 0)[1]
  if not first then return nil, 0 end
  local ends, dead = {}, {}
  local function alive(waiter)
    local s = sidecar_of(waiter)
    ends[s] = ends[s] or tonumber(redis.call('ZSCORE', heartbeats, s) or 0)
    return ends[s] > now, ends[s]
  end
  local lives, till = alive(first)
  if lives then return first, till end
  local head
  for _, waiter in ipairs(redis.call('ZRANGE', line, 0, 999)) do
    lives, till = alive(waiter)
    if lives then
      head = waiter
      break
    end
    dead[#dead + 1] = waiter
  end
  redis.call('ZREM', line, unpack(dead))
  if #dead == 1000 then return '', 0 end
  return head, till
end

-- line_heartbeat records that a sidecar counts as alive for heartbeat_ms more.
local function line_heartbeat(line, heartbeats, sidecar, heartbeat_ms)
  redis.call('ZADD', heartbeats, now + heartbeat_ms * 1000, sidecar)
  redis.call('PEXPIRE', heartbeats, heartbeat_ms + LINE_MS)
  redis.call('PEXPIRE', line, heartbeat_ms + LINE_MS)
end

-- line_hear records a heartbeat for a waiter that calls the script. It must run before any other function uses the line, so
-- that a sidecar whose heartbeat is late keeps its places.
local function line_hear(line, heartbeats, waiter, heartbeat_ms)
  if waiter ~= '' and heartbeat_ms > 0 and redis.call('ZSCORE', line, waiter) then
    line_heartbeat(line, heartbeats, sidecar_of(waiter), heartbeat_ms)
  end
end

-- line_enter gives a waiter the next ticket, unless it has one.
local function line_enter(line, heartbeats, waiter, heartbeat_ms)
  if not redis.call('ZSCORE', line, waiter) then
    local last = redis.call('ZREVRANGE', line, 0, 0, 'WITHSCORES')
    redis.call('ZADD', line, tonumber(last[2] or 0) + 1, waiter)
  end
  line_heartbeat(line, heartbeats, sidecar_of(waiter), heartbeat_ms)
end

-- line_wake wakes the head of the line by a message to its sidecar. It must be the
-- last step of a script. It may fail, since the head also asks again by itself.
local function line_wake(line, heartbeats, inboxes)
  local head = line_head(line, heartbeats)
  if head and head ~= '' then
    redis.pcall('PUBLISH', table.concat({inboxes, sidecar_of(head)}), head)
  end
end
