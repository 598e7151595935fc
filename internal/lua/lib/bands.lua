-- bands_of reads a signature: capacity/l/p/period_ms of each band, joined by ';'.
local function bands_of(text)
  local bands = {}
  for c, l, p, ms in string.gmatch(text, '(%d+)/(%d+)/(%d+)/(%d+)') do
    bands[#bands + 1] = {c = tonumber(c), l = tonumber(l), p = tonumber(p), ms = tonumber(ms), u = 0, r = 0}
  end
  return bands
end

-- newer is by which bands a state decided when its rule is newer than the caller's, whose sig is another; else empty.
local function newer(s, sig) return s.sig ~= sig and s.sig or '' end
