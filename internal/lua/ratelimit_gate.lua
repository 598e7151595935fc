-- Tells all that holds up a key whatever its algorithm is.
-- USES clock gate
-- KEYS gate (hash, see prelude_gate.lua); leases (sorted set, see prelude_leases.lua); holders (hash); line (sorted set)
-- ARGV most (leases that are told)
-- RETURNS now_us; pause_us (until, 0 = not paused); why (text); penalty_us (when the last pause for what the remote server
--      answered ends or ended, 0 = none is known); level (pauses in a row); next_us (when a delay lets the next go, 0 = none
--      does); held (leases); waiting (places in the line, of dead sidecars too); items (how many follow); then (for each);
--      kind (delay, the slowest first, or lease, the first to end first); name (a word's source; a lease's client);
--      instance (of a lease); us (a word's delay; since when a lease is held); ends_us
-- TTL none is written
-- COST O(sources + most): HMGET, HGETALL, ZCOUNT, ZRANGEBYSCORE, HMGET, ZCARD
local g = gate(KEYS[1])
local f = redis.call('HMGET', KEYS[1], 'why', 'penalty', 'level')
local paused = g.pause > now
local out = {
  now, paused and g.pause or 0, paused and f[1] or '', tonumber(f[2] or 0), tonumber(f[3] or 0), g.next,
  redis.call('ZCOUNT', KEYS[2], string.format('(%.0f', now), '+inf'), redis.call('ZCARD', KEYS[4]), 0,
}

local function item(kind, name, instance, us, ends)
  local k = #out
  out[k + 1], out[k + 2], out[k + 3], out[k + 4], out[k + 5] = kind, name, instance, us, ends
  out[9] = out[9] + 1
end

for _, w in ipairs((gate_words(KEYS[1]))) do item('delay', string.sub(w.field, 3), '', w.delay, w.ends) end

-- texts splits what prelude_leases.lua wrote of a holder.
local function texts(holder)
  local all, i = {}, 1
  for k = 1, 3 do
    local colon = string.find(holder, ':', i, true)
    local n = tonumber(string.sub(holder, i, colon - 1))
    all[k], i = string.sub(holder, colon + 1, colon + n), colon + n + 1
  end
  return all[2], all[3], tonumber(string.sub(holder, i))
end

local ids = redis.call('ZRANGEBYSCORE', KEYS[2], string.format('(%.0f', now), '+inf', 'WITHSCORES', 'LIMIT', 0, tonumber(ARGV[1]))
for i = 1, #ids, 2 do
  local holder = redis.call('HGET', KEYS[3], ids[i])
  if holder then
    local client, instance, since = texts(holder)
    item('lease', client, instance, since, tonumber(ids[i + 1]))
  end
end
return out
