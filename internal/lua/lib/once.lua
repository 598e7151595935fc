-- once runs body and stores its reply at key. If an earlier run has stored its
-- reply there, once returns {'replayed', reply} instead, or {'conflict'} if that
-- run had another fingerprint. Without a key it only runs body. body returns its
-- reply and whether it wrote; the reply of a run that wrote nothing is not stored,
-- since that may run again.
-- The value at key is the fingerprint and then the reply, each number as i<n>:
-- and each text as s<length>:<bytes>, so that texts may contain any bytes.
-- Its TTL is longer than any deadline of a call. The part texts must come before it.
local function once_kept(reply)
  local out = {}
  for i = 1, #reply do
    local v = reply[i]
    if type(v) == 'number' then
      out[#out + 1] = string.format('i%d:', v)
    else
      out[#out + 1] = string.format('s%d:', #v)
      out[#out + 1] = v
    end
  end
  return table.concat(out)
end

local function once(key, fingerprint, body, kept)
  if not key then return (body()) end
  local stored = text_get(key)
  if stored then
    local values, i = {}, 1
    while i <= #stored do
      local colon = string.find(stored, ':', i, true)
      local n = tonumber(string.sub(stored, i + 1, colon - 1))
      if string.sub(stored, i, i) == 'i' then
        values[#values + 1], i = n, colon + 1
      else
        values[#values + 1], i = string.sub(stored, colon + 1, colon + n), colon + n + 1
      end
    end
    if table.remove(values, 1) ~= fingerprint then return {'conflict'} end
    return {'replayed', values}
  end
  local reply, wrote = body()
  if wrote then
    text_set(key, table.concat({string.format('s%d:', #fingerprint), fingerprint, kept(reply)}), '150000')
  end
  return reply
end
