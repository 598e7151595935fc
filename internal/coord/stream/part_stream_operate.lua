-- What the scripts that inspect and manage streams share.

-- by_field converts a flat list of fields and values to a table.
local function by_field(flat)
  local t = {}
  for i = 1, #flat, 2 do t[flat[i]] = flat[i + 1] end
  return t
end

-- id_parts returns the two numbers of an id.
local function id_parts(id)
  local ms, serial = string.match(id, '^(%d+)-(%d+)$')
  return tonumber(ms), tonumber(serial)
end

-- groups_of returns the groups of a stream, each with its fields as XINFO GROUPS replies with them.
local function groups_of(log)
  local all = {}
  if redis.call('EXISTS', log) == 1 then
    for i, flat in ipairs(redis.call('XINFO', 'GROUPS', log)) do all[i] = by_field(flat) end
  end
  return all
end

-- pending_by_consumer returns how many messages are pending, the id of the oldest, and how many each consumer holds that holds
-- any.
local function pending_by_consumer(log, group)
  local total, oldest, _, list = unpack(redis.call('XPENDING', log, group))
  local by = {}
  for _, c in ipairs(list or {}) do by[c[1]] = tonumber(c[2]) end
  return total, oldest, by
end
