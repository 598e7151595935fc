# Calls a sidecar with nothing but Ruby's msgpack.

require "msgpack"
require "socket"

# Client makes one call at a time.
class Client
  attr_reader :socket

  def initialize
    @socket = UNIXSocket.new(ENV.fetch("COXSWAIN_SOCKET"))
    @unpacker = MessagePack::Unpacker.new(@socket)
    @msgid = 0
  end

  def call(method, *params)
    @socket.write([0, @msgid += 1, method, params].to_msgpack)
    _, id, error, result = @unpacker.read
    raise "reply to #{id}" unless id == @msgid

    error ? error[1] : result
  end
end

def check(name, right, got)
  puts right ? "ok #{name}" : "not ok #{name}: #{got.inspect}"
end

client = Client.new
got = client.call("session.ping")
check("ping without params", got["now_at_ms"].is_a?(Integer), got)
# A child with the socket would keep the program's locks after the program's end.
check("a child does not keep the connection open", client.socket.close_on_exec?, nil)
limit = { key: "ruby", algorithm: "token_bucket", limits: [{ limit: 2, period_ms: 3_600_000.0 }] } # a float, as JavaScript sends
got = Array.new(3) { client.call("ratelimit.acquire", limit)["allowed"] }
check("symbols as keys, a float as period", got == [true, true, false], got)
got = client.call("lock.acquire", { name: "ruby", ttl_ms: nil })
check("nil for an absent option", got["acquired"], got)
got = client.call("lock.release", { name: "ruby", token: got["token"] })
check("release", got == { "released" => true, "reason" => "released" }, got)
got = client.call("lock.get", { nam: "ruby" })
check("the unknown key is told", got.is_a?(String) && got.start_with?("INVALID_ARGUMENT: ") && got.include?("nam"), got)
