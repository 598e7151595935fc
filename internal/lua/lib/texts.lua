-- Keys that hold texts. Each is read once in a run; if the script's header names them (TEXTS), one MGET reads those of all
-- items. A key that the script also writes in another way must not be read here.
local texts = {}

local function text_get(key)
  local text = texts[key]
  if text == nil then
    text = redis.call('GET', key)
    texts[key] = text
  end
  return text
end

local function text_set(key, text, ms)
  texts[key] = text
  redis.call('SET', key, text, 'PX', ms)
end
