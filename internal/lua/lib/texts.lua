-- Keys that hold texts, each read once in a run: a script whose header names them (TEXTS) reads those of all items with one
-- MGET. A key that is written otherwise is not to be read here.
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
