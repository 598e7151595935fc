-- Counts the entries, leases and waiters of a queue, and returns the state and the position of one entry.
-- USES clock queue queue_tidy
-- KEYS order; entries; bodies; expiry; leased; holders; line
-- ARGV id; most
-- RETURNS state; position; depth; leased; waiting; oldest_ms; returned; expired; holders; then; id; tries; left_us; session
-- TTL as queue_enqueue
-- COST O(most + log entries + ended leases and expired entries, 1,000 at most): ZCARD, ZRANK, HGET, and PEXPIRE when one was removed
queue_read(queue)
local waiting = redis.call('ZCARD', line_key)
queue_tidy(queue, 1000)
local state, position = 0, 0
local e, leased
if id ~= '' then e, leased = entry_find(queue, id) end
if e then
  state, position = leased and 2 or 1, leased and 0 or redis.call('ZRANK', queue.order, id) + 1
end
if queue.returned + queue.expired > 0 then queue_keep(queue) end
local holders, list = {}, most > 0 and redis.call('ZRANGE', queue.leased, 0, most - 1, 'WITHSCORES') or {}
for i = 1, #list, 2 do
  local held = entry_read(queue, redis.call('HGET', queue.holders, list[i]) or '')
  if held then
    holders[#holders + 1] = {
      id = held.id, tries = held.tries, left_us = math.max(tonumber(list[i + 1]) - now, 0), session = held.session,
    }
  end
end
local first = entry_read(queue, redis.call('ZRANGE', queue.order, 0, 0)[1] or '')
return {
  state = state, position = position, depth = redis.call('ZCARD', queue.order), leased = redis.call('ZCARD', queue.leased),
  waiting = waiting, oldest_ms = first and math.max(math.floor((now - first.came) / 1000), 0),
  returned = queue.returned, expired = queue.expired, holders = holders,
}
