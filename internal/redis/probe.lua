-- Checks whether this user may run the commands of the scripts, and whether the server accepts writes. It changes nothing.
-- USES
-- KEYS scratch
-- ARGV commands
-- RETURNS unknown; denied
-- TTL none is written
-- COST O(commands)
local scratch_key, commands = KEYS[1], ARGV[1]
local unknown, denied = {}, {}
if redis.acl_check_cmd then
  for name in string.gmatch(commands, '%S+') do
    local command, sub = string.match(name, '^([^|]+)|?(.*)$')
    local known, may = pcall(redis.acl_check_cmd, command, sub ~= '' and sub or scratch_key, scratch_key)
    if not known then
      unknown[#unknown + 1] = name
    elseif not may then
      denied[#denied + 1] = name
    end
  end
end
-- Redis refuses this SET for the reasons for which it refuses any write, such as a lack of memory. With XX it
-- writes nothing, since the key does not exist.
if #unknown + #denied == 0 then redis.call('SET', scratch_key, '', 'XX', 'PX', 1000) end
return {table.concat(unknown, ' '), table.concat(denied, ' ')}
