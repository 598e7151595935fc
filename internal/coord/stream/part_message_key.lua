-- message_key returns the text of a field of a message, nil if the message has no such field. Sidecars encode a message as a
-- MessagePack map, of which f is the map of its fields. It does not use cmsgpack, which Redis has and the embedded store lacks.
local function message_key(message, field)
  local at = 1
  -- length reads the head of a text, of bytes or of a map at the position at, and returns its length in bytes or in pairs; nil
  -- if something else begins there.
  local function length()
    local c = string.byte(message, at)
    at = at + 1
    if not c then return nil end
    if c >= 128 and c <= 143 then return c - 128 end
    if c >= 160 and c <= 191 then return c - 160 end
    local size = ({[196] = 1, [197] = 2, [198] = 4, [217] = 1, [218] = 2, [219] = 4, [222] = 2, [223] = 4})[c]
    if not size or at + size - 1 > #message then return nil end
    local n = 0
    for i = at, at + size - 1 do n = n * 256 + string.byte(message, i) end
    at = at + size
    return n
  end
  local function text()
    local n = length()
    if not n then return nil end
    at = at + n
    return string.sub(message, at - n, at - 1)
  end
  for _ = 1, length() or 0 do
    local name = text()
    if name == 'f' then
      for _ = 1, length() or 0 do
        local key, value = text(), text()
        if key == field then return value end
      end
      return nil
    end
    if not name or not text() then return nil end
  end
  return nil
end
