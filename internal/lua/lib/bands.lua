-- bands_of parses a signature: capacity/l/p/period_ms of each band, joined by ';'.
local function bands_of(text)
  local bands = {}
  for c, l, p, ms in string.gmatch(text, '(%d+)/(%d+)/(%d+)/(%d+)') do
    bands[#bands + 1] = {c = tonumber(c), l = tonumber(l), p = tonumber(p), ms = tonumber(ms), u = 0, r = 0}
  end
  return bands
end

-- newer returns the signature of the bands by which a state decided if it is not the caller's sig, since the state's rule
-- is newer; else an empty text.
local function newer(s, sig) return s.sig ~= sig and s.sig or '' end
