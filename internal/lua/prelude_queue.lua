-- What the queue scripts share. An entry has a number, higher than those of all that came before it, and keeps it while
-- it is leased: one that comes back is where it was, before all that were never taken. So a lease that ended and one
-- that was given back are the same, whenever a script gets to notice.
-- KEYS 1 order (sorted set, id by number); 2 entries (hash, see entry_read, and as '' the last number and until when (us)
-- anything is kept); 3 bodies (hash); 4 expiry (sorted set, id by when (us) it expires, of those that wait); 5 leased
-- (sorted set, lease by when (us) it ends); 6 holders (hash, id by lease). All have one TTL.
local ORDER, ENTRIES, BODIES, EXPIRY, LEASED, HOLDERS = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]

-- What the run found: how many came back and how many had expired.
local returned, expired = 0, 0

-- queue_read touches every key, so that one of another type fails before anything is written.
local function queue_read()
  redis.call('ZCARD', ORDER)
  redis.call('HLEN', BODIES)
  redis.call('ZCARD', EXPIRY)
  redis.call('ZCARD', LEASED)
  redis.call('HLEN', HOLDERS)
  local last, longest = string.match(redis.call('HGET', ENTRIES, '') or '0 0', '^(%d+) (%d+)$')
  return {last = tonumber(last), longest = tonumber(longest)}
end

-- queue_keep has to follow every write.
local function queue_keep(q)
  if redis.call('ZCARD', ORDER) + redis.call('ZCARD', LEASED) == 0 then return redis.call('DEL', ENTRIES) end
  redis.call('HSET', ENTRIES, '', string.format('%.0f %.0f', q.last, q.longest))
  local ms = math.max(math.ceil((q.longest - now) / 1000), 0) + 1000
  for i = 1, 6 do redis.call('PEXPIRE', KEYS[i], ms) end
end

-- An entry is n, came, ends and since (us; since when it is leased, 0 = it waits), tries, lease and session (of the
-- lease, neither has a space).
local function entry_read(id)
  local text = id ~= '' and redis.call('HGET', ENTRIES, id)
  if not text then return nil end
  local n, came, ends, since, tries, lease, session = string.match(text, '^(%d+) (%d+) (%d+) (%d+) (%d+) (%S*) (%S*)$')
  return {
    id = id, n = tonumber(n), came = tonumber(came), ends = tonumber(ends), since = tonumber(since),
    tries = tonumber(tries), lease = lease, session = session,
  }
end

local function entry_text(e)
  local numbers = string.format('%.0f %.0f %.0f %.0f %.0f ', e.n, e.came, e.ends, e.since, e.tries)
  return table.concat({numbers, e.lease, ' ', e.session})
end

-- entry_wait has an entry wait in its place.
local function entry_wait(e)
  e.since, e.lease, e.session = 0, '', ''
  redis.call('HSET', ENTRIES, e.id, entry_text(e))
  redis.call('ZADD', ORDER, e.n, e.id)
  redis.call('ZADD', EXPIRY, e.ends, e.id)
end

-- entry_unlease ends a lease. The entry has to be dropped or to wait then.
local function entry_unlease(e)
  redis.call('ZREM', LEASED, e.lease)
  redis.call('HDEL', HOLDERS, e.lease)
end

-- entry_return puts an entry back whose lease ended at that time (us): so long it did not grow older.
local function entry_return(e, ended)
  entry_unlease(e)
  e.ends = e.ends + math.max(ended - e.since, 0)
  entry_wait(e)
  returned = returned + 1
end

-- entries_drop removes at most 1,000 that are not leased.
local function entries_drop(ids)
  if #ids == 0 then return end
  redis.call('ZREM', ORDER, unpack(ids))
  redis.call('ZREM', EXPIRY, unpack(ids))
  redis.call('HDEL', ENTRIES, unpack(ids))
  redis.call('HDEL', BODIES, unpack(ids))
end
