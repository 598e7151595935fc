-- now: the server's time in integer microseconds, read once, so that a whole
-- script decides at one instant. Pod clocks decide nothing.
local now = redis.call('TIME')
now = now[1] * 1000000 + now[2]
