-- What the queue scripts share. An entry gets a number that is higher than those of all entries before it, and keeps it
-- while it is leased: an entry that comes back waits where it waited before, ahead of all that were never taken. So it
-- makes no difference whether a lease ended by time or was given back, nor when a script notices it.
-- A queue is the table of a script's input queue, with these keys: order (sorted set, id by number); entries (hash, entry
-- by id, see entry_of; its field '' has the last number and until when (us) anything is kept); bodies (hash, body by id);
-- expiry (sorted set, id of a waiting entry by when (us) it expires); leased (sorted set, lease by when (us) it ends);
-- holders (hash, id by lease). All have one TTL. queue_read adds what it reads, last and longest (the two numbers of
-- field ''), and two counts of this run: returned, the entries whose lease ended, and expired, those that nobody took.

-- queue_read touches every key, so that one of another type fails before anything is written.
local function queue_read(queue)
  redis.call('ZCARD', queue.order)
  redis.call('HLEN', queue.bodies)
  redis.call('ZCARD', queue.expiry)
  redis.call('ZCARD', queue.leased)
  redis.call('HLEN', queue.holders)
  local last, longest = string.match(redis.call('HGET', queue.entries, '') or '0 0', '^(%d+) (%d+)$')
  queue.last, queue.longest, queue.returned, queue.expired = tonumber(last), tonumber(longest), 0, 0
end

-- queue_keep stores the numbers of field '' and sets the TTL of all keys. It must follow every write.
local function queue_keep(queue)
  if redis.call('ZCARD', queue.order) + redis.call('ZCARD', queue.leased) == 0 then return redis.call('DEL', queue.entries) end
  redis.call('HSET', queue.entries, '', string.format('%d %d', queue.last, queue.longest))
  local ms = math.max(math.ceil((queue.longest - now) / 1000), 0) + 1000
  for _, key in ipairs({queue.order, queue.entries, queue.bodies, queue.expiry, queue.leased, queue.holders}) do
    redis.call('PEXPIRE', key, ms)
  end
end

-- The text of an entry is n (its number), came, ends and since (us; since is when its lease began, 0 = it waits), tries, lease and
-- session (of the lease; neither has a space).
local function entry_of(id, text)
  if not text then return nil end
  local n, came, ends, since, tries, lease, session = string.match(text, '^(%d+) (%d+) (%d+) (%d+) (%d+) (%S*) (%S*)$')
  return {
    id = id, n = tonumber(n), came = tonumber(came), ends = tonumber(ends), since = tonumber(since),
    tries = tonumber(tries), lease = lease, session = session,
  }
end

local function entry_read(queue, id) return entry_of(id, id ~= '' and redis.call('HGET', queue.entries, id)) end

local function entry_text(e)
  local numbers = string.format('%d %d %d %d %d ', e.n, e.came, e.ends, e.since, e.tries)
  return table.concat({numbers, e.lease, ' ', e.session})
end

-- entry_wait puts an entry at its place among the waiting ones.
local function entry_wait(queue, e)
  e.since, e.lease, e.session = 0, '', ''
  redis.call('HSET', queue.entries, e.id, entry_text(e))
  redis.call('ZADD', queue.order, e.n, e.id)
  redis.call('ZADD', queue.expiry, e.ends, e.id)
end

-- entry_unlease ends a lease. The caller must then drop the entry or let it wait.
local function entry_unlease(queue, e)
  redis.call('ZREM', queue.leased, e.lease)
  redis.call('HDEL', queue.holders, e.lease)
end

-- entry_return puts back an entry whose lease ended at that time (us). The entry's TTL does not run during a lease.
local function entry_return(queue, e, ended)
  entry_unlease(queue, e)
  e.ends = e.ends + math.max(ended - e.since, 0)
  entry_wait(queue, e)
  queue.returned = queue.returned + 1
end

-- entries_drop removes at most 1,000 entries, none of which may be leased.
local function entries_drop(queue, ids)
  if #ids == 0 then return end
  redis.call('ZREM', queue.order, unpack(ids))
  redis.call('ZREM', queue.expiry, unpack(ids))
  redis.call('HDEL', queue.entries, unpack(ids))
  redis.call('HDEL', queue.bodies, unpack(ids))
end
