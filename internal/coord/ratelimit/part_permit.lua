-- permit handles the leases and the waiting line of a call under max_concurrent. input and charge are Permit and Charge
-- in scripts.go. A call without max_concurrent does not make it.
local function permit(input, charge)
  local leases, holders, line, heartbeats, waiter = input.leases, input.holders, input.line, input.heartbeats, input.waiter
  local made = {}

  -- check returns whether the call may take a permit (one is free, and it is the call's turn), whether it is its turn, and
  -- how many permits are free.
  function made.check()
    -- Each key that may be written is read first, so that a key of another type fails the script before any write.
    redis.call('ZCARD', leases)
    redis.call('HEXISTS', holders, charge.id)
    redis.call('ZCARD', heartbeats)
    if charge.peek == 0 then line_hear(line, heartbeats, waiter, input.heartbeat_ms) end
    local head = line_head(line, heartbeats)
    local first = not head or waiter ~= '' and head == waiter
    local spare = input.max_concurrent - leases_live(leases, holders)
    return first and spare > 0, first, spare
  end

  -- retry_after is how long (us) until the first lease ends at its TTL; at most a second, since a permit may be released
  -- before.
  function made.retry_after()
    local ends = redis.call('ZRANGE', leases, 0, 0, 'WITHSCORES')[2]
    return math.max(1, math.min(1000000, ends and tonumber(ends) - now or 1000000))
  end

  -- wait_in_line adds a refused call to the waiting line, refreshes its place there, or removes it if it does not wait.
  function made.wait_in_line()
    if waiter == '' then return end
    if input.heartbeat_ms > 0 then
      line_enter(line, heartbeats, waiter, input.heartbeat_ms)
    else
      redis.call('ZREM', line, waiter)
    end
  end

  -- grant gives the call a permit. at is when (us) its cost may be used: hold_ms counts from there.
  function made.grant(at)
    leases_take(leases, holders, charge.id, at + input.hold_ms * 1000, input.session, input.client, input.instance)
  end

  -- leave_line removes an answered call from the waiting line, and wakes the next one if a permit is left.
  function made.leave_line(left)
    if waiter ~= '' then redis.call('ZREM', line, waiter) end
    if left > 0 then line_wake(line, heartbeats, input.inboxes) end
  end

  return made
end
