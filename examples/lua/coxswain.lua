-- The first calls from Lua 5.3: lua5.3 coxswain.lua [SECONDS]
local mp = require "MessagePack" -- apt-get install lua-messagepack lua-posix, or luarocks install lua-messagepack luaposix
local fcntl, poll, socket, unistd = require "posix.fcntl", require "posix.poll", require "posix.sys.socket", require "posix.unistd"

-- One connection to the sidecar. Its leases are given back when it closes.
local Coxswain = {}
Coxswain.__index = Coxswain

function Coxswain.new(client, path)
  path = path or os.getenv "COXSWAIN_SOCKET" or "/run/coxswain/sidecar.sock"
  local self = setmetatable({ got = "", msgid = 0, replies = {}, events = {} }, Coxswain)
  self.fd = assert(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0))
  assert(fcntl.fcntl(self.fd, fcntl.F_SETFD, fcntl.FD_CLOEXEC)) -- else a child process would keep the leases after this program's end
  if not socket.connect(self.fd, { family = socket.AF_UNIX, path = path }) then error("no sidecar answers on " .. path, 0) end
  self:call("session.hello", { client = client }) -- the name that is shown for its locks
  return self
end

function Coxswain:call(method, params)
  self.msgid = self.msgid + 1
  assert(unistd.write(self.fd, mp.pack { 0, self.msgid, method, { params } }))
  while not self.replies[self.msgid] do self:read() end
  local _, _, err, result = table.unpack(self.replies[self.msgid], 1, 4)
  self.replies[self.msgid] = nil
  return err and error(err[2], 0) or result -- "CODE: message"
end

-- Returns the next event, such as "lock.lost" and its params, or nothing after so many seconds.
function Coxswain:listen(seconds)
  if #self.events == 0 and poll.rpoll(self.fd, seconds * 1000) == 1 then self:read() end
  local _, method, params = table.unpack(table.remove(self.events, 1) or {})
  return method, params and params[1]
end

function Coxswain:read()
  local data = assert(unistd.read(self.fd, 65536))
  if data == "" then error("the sidecar closed the connection", 0) end
  local cursor = { s = self.got .. data, i = 1, underflow = error }
  cursor.j = #cursor.s
  repeat
    self.got = cursor.s:sub(cursor.i) -- the rest of its last frame may come later
    local whole, frame = pcall(mp.unpack_cursor, cursor)
    if whole and frame[1] == 1 then self.replies[frame[2]] = frame elseif whole then table.insert(self.events, frame) end
  until not whole
end

io.stdout:setvbuf "line"
local coxswain, name = Coxswain.new "example.lua", "nightly"
local limit = { key = "example.com", algorithm = "token_bucket", limits = { { limit = 3, period_ms = 5000 } } }
local answer = coxswain:call("ratelimit.acquire", limit)
if not answer.allowed then error("refused, again in " .. answer.retry_after_ms .. " ms", 0) end
print("allowed, " .. answer.remaining .. " left")
local lock = coxswain:call("lock.acquire", { name = name })
if not lock.acquired then error("busy, held by " .. lock.held_by.client, 0) end
print("locked, fence " .. lock.fence) -- the resource that the lock protects should refuse a lower one
for _ = 1, tonumber(arg[1] or 3) do
  local method, params = coxswain:listen(1) -- stands for a second of work
  if method == "lock.lost" and params.token == lock.token then error("lost: " .. params.reason, 0) end
end
print("released " .. tostring(coxswain:call("lock.release", { name = name, token = lock.token }).released))
