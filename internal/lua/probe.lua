-- Asks whether this user may run what scripts run, and whether writes are taken. It changes nothing.
-- USES
-- KEYS scratch (string; nothing is ever written there)
-- ARGV commands (names in capitals, each followed by a space)
-- RETURNS unknown (names that the server does not know); denied (names that the user may not run)
-- TTL none is written
-- COST O(commands)
local unknown, denied = {}, {}
if redis.acl_check_cmd then
  for name in string.gmatch(ARGV[1], '%S+') do
    local known, may = pcall(redis.acl_check_cmd, name, KEYS[1])
    if not known then
      unknown[#unknown + 1] = name
    elseif not may then
      denied[#denied + 1] = name
    end
  end
end
-- Refused as any write is, memory included; with XX it changes nothing where nothing is.
if #unknown + #denied == 0 then redis.call('SET', KEYS[1], '', 'XX', 'PX', 1000) end
return {table.concat(unknown, ' '), table.concat(denied, ' ')}
