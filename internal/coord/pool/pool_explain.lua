-- Judges the members of one page of a pool, or a single one, as an acquisition of a member or of a permit would; takes nothing.
-- USES clock muldiv lifetime bands state bucket bucket_text breaker breaker_probe breaker_step breaker_store
-- USES line line_view pool pool_page pool_holders pool_view permit
-- KEYS order; meta; changes; members; tokens; state; heads; breakers; used; line; heartbeats; buckets
-- ARGV after; count; member; exclude; permit; cost; revision; signature; overrides; policy; most
-- RETURNS cursor; members; free; id; last_us; reasons; then; reason; members; id; after_us; holders; then; id; left_us; client;
--      instance; since_ms; waiting; standing; then; sidecar; waiting; left_us
-- TTL none is written
-- COST O(count + waiters, 1,000 at most): ZRANGEBYSCORE, HMGET four times, ZRANGE, ZCARD, ZSCORE
local r, view = {excluded = {}}, {used = used_key}
for _, unwanted in ipairs(exclude) do r.excluded[unwanted] = true end
if permit then
  r.buckets, r.cost, r.revision, r.signature, r.overrides, r.policy = buckets_key, cost, revision, signature, overrides, policy
  permit_request(pool, r)
end
local ids, next_cursor, rows = {member}, 0, nil
if member == '' then
  local texts, used
  ids, texts, used, next_cursor = pool_page(pool, used_key, after, count)
  rows = {ids = ids, texts = texts, used = used, more = r.read and #ids > 0 and r.read(ids)}
else
  rows = view_read(pool, view, ids, r)
end
local members, free, best, held, by, reasons = 0, 0, nil, {}, {}, {}
for i, id in ipairs(ids) do
  local c = not r.excluded[id] and view_judge(rows, i, r)
  if c then
    members = members + 1
    local _, ends = pool_times(c.text)
    if ends > now then held[#held + 1] = {id = id, ends = ends, text = c.text} end
    if c.at == 0 then
      free = free + 1
      if not best or c.score < best.score or c.score == best.score and id < best.id then best = c end
    else
      local why = by[c.why]
      if not why then
        why = {reason = c.why, members = 0, at = NEVER, id = id}
        by[c.why], reasons[#reasons + 1] = why, why
      end
      why.members = why.members + 1
      if c.at < why.at then why.at, why.id = c.at, id end
    end
  end
end
for _, why in ipairs(reasons) do why.after_us = why.at >= NEVER and -1 or why.at - now end
local waiting, standing = line_view(line_key, heartbeats_key)
return {
  cursor = next_cursor, members = members, free = free, id = best and best.id or '', last_us = best and best.score or 0,
  reasons = reasons, holders = pool_holders(held, most), waiting = waiting, standing = standing,
}
