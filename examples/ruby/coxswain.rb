# The first calls from Ruby: ruby coxswain.rb [SECONDS]
require "msgpack" # apt-get install ruby-msgpack, or gem install msgpack
require "socket"

# One connection to the sidecar, for one thread. Its leases are given back when it closes.
class Coxswain
  def initialize(client, path = ENV.fetch("COXSWAIN_SOCKET", "/run/coxswain/sidecar.sock"))
    @socket, @unpacker = UNIXSocket.new(path), MessagePack::Unpacker.new
    @msgid, @replies, @events = 0, {}, []
    call("session.hello", client: client) # the name that is shown for its locks
  end

  def call(method, **params)
    @socket.write([0, @msgid += 1, method, [params]].to_msgpack)
    read until @replies.key?(@msgid)
    error, result = @replies.delete(@msgid)
    error ? raise(error[1]) : result # "CODE: message"
  end

  # Returns the next event, such as ["lock.lost", {...}], or nil after so many seconds.
  def listen(seconds)
    read if @events.empty? && @socket.wait_readable(seconds)
    @events.shift
  end

  private

  def read
    @unpacker.feed_each(@socket.readpartial(65_536)) do |kind, *rest|
      kind == 1 ? @replies[rest[0]] = rest[1..2] : @events << [rest[0], rest[1][0]]
    end
  rescue EOFError
    raise "the sidecar closed the connection"
  end
end

if __FILE__ == $PROGRAM_NAME
  $stdout.sync = true
  coxswain = Coxswain.new("example.rb")
  limits = [{ limit: 3, period_ms: 5000 }]
  answer = coxswain.call("ratelimit.acquire", key: "example.com", algorithm: "token_bucket", limits: limits)
  abort "refused, again in #{answer["retry_after_ms"]} ms" unless answer["allowed"]
  puts "allowed, #{answer["remaining"]} left"

  lock = coxswain.call("lock.acquire", name: "nightly")
  abort "busy, held by #{lock["held_by"]["client"]}" unless lock["acquired"]
  puts "locked, fence #{lock["fence"]}" # the resource that the lock protects should refuse a lower one
  Integer(ARGV.fetch(0, 3)).times do
    method, params = coxswain.listen(1) # stands for a second of work
    abort "lost: #{params["reason"]}" if method == "lock.lost" && params["token"] == lock["token"]
  end
  puts "released #{coxswain.call("lock.release", name: "nightly", token: lock["token"])["released"]}"
end
