-- The place that a request r under max_concurrent takes: see prelude_admit.lua for what r has. It is a table, since
-- most requests take none, and do not make it.
local seat = {}

-- ask says whether a lease is free for the caller, whose turn it has to be; whether it is; and how many are held.
function seat.ask(r)
  -- All that may be written is read first: a key of another type fails before anything is.
  redis.call('ZCARD', r.leases)
  redis.call('HEXISTS', r.holders, r.id)
  redis.call('ZCARD', r.beats)
  if not r.peek then line_hear(r.line, r.beats, r.waiter, r.beat_ms) end
  local head = line_head(r.line, r.beats)
  local first = (not head or r.waiter ~= '' and head == r.waiter) and 1 or 0
  local live = leases_live(r.leases, r.holders)
  return first == 1 and live < r.max, first, live
end

-- wait is how long until the first lease ends by itself; at most a second, since others may be given back before.
function seat.wait(r)
  local ends = redis.call('ZRANGE', r.leases, 0, 0, 'WITHSCORES')[2]
  return math.max(1, math.min(1000000, ends and tonumber(ends) - now or 1000000))
end

-- stand has who may not go yet enter the line, keep its place, or leave it.
function seat.stand(r)
  if r.waiter == '' then return end
  if r.beat_ms > 0 then
    line_enter(r.line, r.beats, r.waiter, r.beat_ms)
  else
    redis.call('ZREM', r.line, r.waiter)
  end
end

-- take has the caller hold a lease, from when (us) its cost may be used.
function seat.take(r, at)
  leases_take(r.leases, r.holders, r.id, at + r.hold_ms * 1000, r.session, r.client, r.instance)
end

-- leave takes who has its answer out of the line, and tells the next if there is something left for it.
function seat.leave(r, left)
  if r.waiter ~= '' then redis.call('ZREM', r.line, r.waiter) end
  if left > 0 then line_wake(r.line, r.beats, r.inboxes) end
end
