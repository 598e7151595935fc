-- Calls a sidecar from Neovim's own RPC channel, as a plugin would.

local failed = false

local function check(name, right, got)
  failed = failed or not right
  io.stdout:write(right and ("ok " .. name .. "\n") or ("not ok " .. name .. ": " .. vim.inspect(got) .. "\n"))
end

local function main()
  local chan = vim.fn.sockconnect("pipe", vim.env.COXSWAIN_SOCKET, { rpc = true })
  local function refusal(...)
    local ok, err = pcall(vim.fn.rpcrequest, chan, ...)
    return (not ok) and tostring(err) or ""
  end

  local ping = vim.fn.rpcrequest(chan, "session.ping")
  check("a result is a map", type(ping) == "table" and ping.now_at_ms > 1.5e12, ping)

  local limit = { key = "neovim", algorithm = "token_bucket", limits = { { limit = 1, period_ms = 3600000 } } }
  local first = vim.fn.rpcrequest(chan, "ratelimit.acquire", limit)
  local second = vim.fn.rpcrequest(chan, "ratelimit.acquire", limit)
  check("the first is allowed", first.allowed == true and first.band == "1/1h", first)
  check("the second is refused", second.allowed == false and second.retry_after_ms > 0, second)

  local lock = vim.fn.rpcrequest(chan, "lock.acquire", { name = "neovim" })
  check("a lock is taken", lock.acquired == true, lock)
  vim.fn.rpcnotify(chan, "lock.release", { name = "neovim", token = lock.token })
  -- Notifications and calls of one connection may overtake each other; this one waits for the release.
  local free = vim.wait(60000, function()
    return not vim.fn.rpcrequest(chan, "lock.get", { name = "neovim" }).held
  end, 10)
  check("a notification releases it", free, free)

  local text = refusal("lock.acquire", { name = "l", tll_ms = 5 })
  check("the unknown key is told", text:find("INVALID_ARGUMENT: ", 1, true) and text:find("tll_ms", 1, true), text)
  text = refusal("lock.aquire", { name = "l" })
  check("the nearest method is told", text:find("METHOD_NOT_FOUND: ", 1, true) and text:find("lock.acquire", 1, true), text)
  vim.fn.chanclose(chan)
end

local ok, err = pcall(main)
if not ok then
  check("neovim", false, err)
end
vim.cmd(failed and "cquit" or "qall!")
