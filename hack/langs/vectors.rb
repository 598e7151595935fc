# Reads every test vector with msgpack and compares it with its JSON.

require "json"
require "msgpack"

# Writes a decoded value as the vectors' JSON does.
def plain(value)
  case value
  when String
    text = value.dup.force_encoding("UTF-8")
    text.valid_encoding? ? text : { "$bin" => value.unpack1("H*") }
  when Array then value.map { |v| plain(v) }
  when Hash then value.to_h { |k, v| [plain(k), plain(v)] }
  when Float then value.finite? && value == value.to_i && value.abs <= 2**53 ? value.to_i : value
  else value
  end
end

Dir[File.join(ARGV[0], "*.json")].sort.each do |file|
  JSON.parse(File.read(file)).each do |vector|
    next unless vector.key?("json")

    name = "#{File.basename(file, ".json")}/#{vector["name"]}"
    got = plain(MessagePack.unpack([vector["hex"]].pack("H*")))
    puts got == vector["json"] ? "ok #{name}" : "not ok #{name}: #{got.inspect} is not #{vector["json"].inspect}"
  end
end
