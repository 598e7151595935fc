-- What the scripts that keep a log of charges share. The state is one sorted set for all bands. Its first member, with score -1,
-- is the rule that it was written under, rule:<revision>:<signature>. Then comes a member for each charge, with its instant (us)
-- as the score: <total>:<cost>:<id>. total is the sum of all costs up to and including this one, in 16 digits. So the amount
-- charged from one entry to another is the difference of two totals, and entries of one instant are in the order of charging.
-- An entry is never put before the last one: a charge for an earlier instant gets the last entry's instant.

-- log_entry reads a member: total, cost and id.
local function log_entry(member)
  local total, cost, id = string.match(member, '^(%d+):(%d+):(.*)$')
  return tonumber(total), tonumber(cost), id
end

local function log_entry_text(total, cost, id)
  local digits = string.format('%.0f', total)
  return table.concat({string.rep('0', 16 - #digits), digits, string.format(':%.0f:', cost), id})
end

-- log_read reads the rule and the last entry. If the caller's rule is older than the state's, the state's decides. The entries
-- count unchanged under any rule: raising a limit admits more at once, and lowering one forgets nothing.
local function log_read(key, sig, revision)
  local s = {key = key, sig = sig, v = revision, at = -1, total = 0, rule = redis.call('ZRANGE', key, 0, 0)[1]}
  if s.rule then
    local v, stored = string.match(s.rule, '^rule:(%d+):(.*)$')
    if tonumber(v) > revision then s.v, s.sig = tonumber(v), stored end
    local last = redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')
    if last[1] ~= s.rule then
      s.last, s.at = last[1], tonumber(last[2])
      s.total, s.cost, s.id = log_entry(s.last)
    end
  end
  s.bands, s.longest = bands_of(s.sig), 0
  for _, b in ipairs(s.bands) do
    b.us = b.ms * 1000
    if b.l == 0 then b.c = 0 end
    s.longest = math.max(s.longest, b.us)
  end
  return s
end

-- log_keep sets the TTL, so that the state is kept until its last entry no longer counts.
local function log_keep(s)
  redis.call('PEXPIRE', s.key, lifetime_ms(math.max(s.at + s.longest - now, 0)))
end

-- log_give_back removes the entry of a slot that has not come, if it is the last one, and returns whether it did.
local function log_give_back(key, id)
  local s = log_read(key, '', -1)
  if not s.last or s.id ~= id or s.at <= now then return false end
  redis.call('ZREM', key, s.last)
  log_keep(s)
  return true
end

-- log_refund removes an entry that was charged for the instant at (us), as if it had never existed, and returns whether it did.
-- It does not if the entry no longer counts, or if more than 1,000 entries are later, whose totals it would have to correct.
local function log_refund(key, id, at)
  local s = log_read(key, '', -1)
  local rank = redis.call('ZCOUNT', key, '-inf', string.format('(%.0f', at))
  if redis.call('ZCARD', key) > rank + 1001 then return false end
  local found = redis.call('ZRANGE', key, rank, -1, 'WITHSCORES')
  local old, new, refunded = {}, {}, nil
  for i = 1, #found, 2 do
    local total, cost, of = log_entry(found[i])
    if refunded then
      old[#old + 1] = found[i]
      new[#new + 1], new[#new + 2] = found[i + 1], log_entry_text(total - refunded, cost, of)
    elseif of == id and tonumber(found[i + 1]) > now - s.longest then
      old[1], refunded = found[i], cost
    end
  end
  if not refunded then return false end
  for i = 1, #old, 1000 do redis.call('ZREM', key, unpack(old, i, math.min(i + 999, #old))) end
  for i = 1, #new, 1000 do redis.call('ZADD', key, unpack(new, i, math.min(i + 999, #new))) end
  log_keep(s)
  return true
end
