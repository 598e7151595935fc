-- seat handles the leases and the waiting line of a request under max_concurrent. input is the Seat in
-- ratelimit.go, charge the Charge. Most requests have none and do not make it.
local function seat(input, charge)
  local leases, holders, line, heartbeats, waiter = input.leases, input.holders, input.line, input.heartbeats, input.waiter
  local made = {}

  -- ask says whether a lease is free for the caller, whose turn it has to be; whether it is; and how many are free.
  function made.ask()
    -- All that may be written is read first: a key of another type fails before anything is.
    redis.call('ZCARD', leases)
    redis.call('HEXISTS', holders, charge.id)
    redis.call('ZCARD', heartbeats)
    if charge.peek == 0 then line_hear(line, heartbeats, waiter, input.heartbeat_ms) end
    local head = line_head(line, heartbeats)
    local first = not head or waiter ~= '' and head == waiter
    local spare = input.max_concurrent - leases_live(leases, holders)
    return first and spare > 0, first, spare
  end

  -- wait is how long until the first lease ends by itself; at most a second, since others may be given back before.
  function made.wait()
    local ends = redis.call('ZRANGE', leases, 0, 0, 'WITHSCORES')[2]
    return math.max(1, math.min(1000000, ends and tonumber(ends) - now or 1000000))
  end

  -- stand has a caller that may not go yet enter the line, keep its place, or leave it.
  function made.stand()
    if waiter == '' then return end
    if input.heartbeat_ms > 0 then
      line_enter(line, heartbeats, waiter, input.heartbeat_ms)
    else
      redis.call('ZREM', line, waiter)
    end
  end

  -- take has the caller hold a lease, from when (us) its cost may be used.
  function made.take(at)
    leases_take(leases, holders, charge.id, at + input.hold_ms * 1000, input.session, input.client, input.instance)
  end

  -- leave takes a caller that has its answer out of the line, and tells the next if a lease is left for it.
  function made.leave(left)
    if waiter ~= '' then redis.call('ZREM', line, waiter) end
    if left > 0 then line_wake(line, heartbeats, input.inboxes) end
  end

  return made
end
