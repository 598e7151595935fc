-- Who may go at once where only so many may: see prelude_admit.lua for the request r.

-- seat says whether a lease is free for the caller, whose turn it has to be. A request without max has none.
local function seat(r)
  if not r.max then return true, 0, 0 end
  -- All that may be written is read first: a key of another type fails before anything is.
  redis.call('ZCARD', r.leases)
  redis.call('HEXISTS', r.holders, r.id)
  redis.call('ZCARD', r.beats)
  if not r.peek then line_hear(r.line, r.beats, r.waiter, r.beat_ms) end
  local head = line_head(r.line, r.beats)
  local first = (not head or r.waiter ~= '' and head == r.waiter) and 1 or 0
  local live = leases_live(r.leases, r.holders)
  if first == 1 and live < r.max then return true, 1, live end
  return false, first, live
end

-- seat_wait is how long until the first lease ends by itself; at most a second, since others may be given back before.
local function seat_wait(r)
  local ends = redis.call('ZRANGE', r.leases, 0, 0, 'WITHSCORES')[2]
  return math.max(1, math.min(1000000, ends and tonumber(ends) - now or 1000000))
end

-- stand has who may not go yet enter the line, keep its place, or leave it.
local function stand(r)
  if r.waiter == '' then return end
  if r.beat_ms > 0 then
    line_enter(r.line, r.beats, r.waiter, r.beat_ms)
  else
    redis.call('ZREM', r.line, r.waiter)
  end
end

-- leave takes who has its answer out of the line, and tells the next if there is something left for it.
local function leave(r, left)
  if not r.max then return end
  if r.waiter ~= '' then redis.call('ZREM', r.line, r.waiter) end
  if left > 0 then line_wake(r.line, r.beats, r.inboxes) end
end
