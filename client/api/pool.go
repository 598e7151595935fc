package api

// The methods and the events of pools, whose members are each leased to one caller at a time, and of permits.
var (
	PoolPut = define[PoolPutParams, PoolPutResult](Spec{
		Name: "pool.put", Idempotent: true, Admin: true, Since: "0.1.0",
		Summary: "Adds members to a pool, and replaces the meta of members that it already has, which keep their state, bans included.",
	})
	PoolRemove = define[PoolRemoveParams, PoolRemoveResult](Spec{
		Name: "pool.remove", Idempotent: true, Admin: true, Since: "0.1.0",
		Summary: "Removes members from a pool with their state. The holder of a removed member learns of it when its lease is renewed.",
	})
	PoolList = define[PoolListParams, PoolListResult](Spec{
		Name: "pool.list", Idempotent: true, Since: "0.1.0",
		Summary: "Lists the members of a pool and their states, one page at a time, in the order in which they were added.",
	})
	PoolPools = define[PoolPoolsParams, PoolPoolsResult](Spec{
		Name: "pool.pools", Idempotent: true, Since: "0.1.0",
		Summary: "Lists the pools that have members, with counts of these, one page at a time, in no particular order. An entry that is " +
			"added or removed during the listing may be missing or still listed.",
	})
	PoolExplain = define[PoolExplainParams, PoolExplainResult](Spec{
		Name: "pool.explain", Idempotent: true, Since: "0.1.0",
		Summary: "Explains which member pool.acquire would lease now, or why none and until when: why members are not available, who " +
			"holds them, and whose calls are in the waiting line. It takes nothing.",
	})
	PoolStats = define[PoolStatsParams, PoolStatsResult](Spec{
		Name: "pool.stats", Idempotent: true, Since: "0.1.0",
		Summary: "Counts the members of a pool by state: live, cooling, banned and free make the total.",
	})
	PoolAcquire = define[PoolAcquireParams, PoolAcquireResult](Spec{
		Name: "pool.acquire", Since: "0.1.0",
		Summary: "Leases the least recently used member that is not leased, cooling or banned, at once or in turn within wait_ms.",
	})
	PoolRenew = define[PoolRenewParams, PoolRenewResult](Spec{
		Name: "pool.renew", Idempotent: true, Since: "0.1.0",
		Summary: "Renews the lease of a member: from now on it lasts the given time, which may be shorter or longer than what was left. " +
			"The sidecar renews leases that are bound to the session itself, with the new time from then on.",
	})
	PoolRelease = define[PoolReleaseParams, PoolReleaseResult](Spec{
		Name: "pool.release", Idempotent: true, Notify: true, Since: "0.1.0",
		Summary: "Gives a member back and reports the outcome of its use.",
	})
	PoolBan = define[PoolBanParams, PoolBanResult](Spec{
		Name: "pool.ban", Idempotent: true, Admin: true, Since: "0.1.0",
		Summary: "Takes a member out of use, for a time or until pool.unban. A present holder keeps it until it gives it back.",
	})
	PoolUnban = define[PoolUnbanParams, PoolBanResult](Spec{
		Name: "pool.unban", Idempotent: true, Admin: true, Since: "0.1.0",
		Summary: "Lifts the ban of a member, and clears its failures and cooldowns.",
	})
	PoolLost = defineEvent[LostParams](Spec{
		Name: "pool.lost", Since: "0.1.0",
		Summary: "This connection has lost a member; name is the pool, token the lease. Sent before the lease ends.",
	})

	PermitAcquire = define[PermitAcquireParams, PermitAcquireResult](Spec{
		Name: "permit.acquire", Since: "0.1.0",
		Summary: "Leases the least recently used member that is free, whose breaker is not open and whose bucket has the cost. One step decides and takes all of it.",
	})
	PermitReport = define[PermitReportParams, PermitReportResult](Spec{
		Name: "permit.report", Idempotent: true, Notify: true, Since: "0.1.0",
		Summary: "Gives back a permit's member and reports the outcome of the work to its breaker, its cooldown and its pause, in one step.",
	})
	PermitExplain = define[PermitExplainParams, PoolExplainResult](Spec{
		Name: "permit.explain", Idempotent: true, Since: "0.1.0",
		Summary: "Explains which member permit.acquire would lease now, or why none and until when: " +
			"members, their breakers, buckets and pauses, who holds them, and whose calls are in the waiting line. It takes nothing.",
	})
	PermitRenew = define[PermitRenewParams, PoolRenewResult](Spec{
		Name: "permit.renew", Idempotent: true, Since: "0.1.0",
		Summary: "Renews a permit: from now on it lasts the given time, which may be shorter or longer than what was left. The sidecar " +
			"renews leases that are bound to the session itself, with the new time from then on.",
	})
	PermitLost = defineEvent[LostParams](Spec{
		Name: "permit.lost", Since: "0.1.0",
		Summary: "This connection has lost the member of a permit; name is the pool, token the lease. Sent before the lease ends.",
	})
)

// MaxPoolMembers is the most members of one pool.
const MaxPoolMembers = 10_000

// DefaultMemberLeaseMS is how long a member is leased, in milliseconds, if a call does not set lease_ms.
const DefaultMemberLeaseMS = 60_000

// MaxExcluded is the most members that one acquisition may exclude.
const MaxExcluded = 100

// PoolMember is one named resource, such as an account, a proxy or a User-Agent.
type PoolMember struct {
	ID   string `codec:"id" required:"true" doc:"the member"`
	Meta string `codec:"meta,omitempty" maxlen:"4096" doc:"a text that the caller who acquires the member is given, at most 4096 bytes"`
}

// PoolPutParams are the members to add or update.
type PoolPutParams struct {
	Pool    string       `codec:"pool" required:"true" doc:"the pool, which the first member creates; it has at most 10000 members"`
	Members []PoolMember `codec:"members" required:"true" doc:"1 to 1000 members"`
}

// PoolPutResult counts the new members.
type PoolPutResult struct {
	Added int64 `codec:"added" doc:"how many members are new"`
	Total int64 `codec:"total" doc:"how many members the pool has now"`
}

// PoolRemoveParams are the members to remove.
type PoolRemoveParams struct {
	Pool string   `codec:"pool" required:"true" doc:"the pool"`
	IDs  []string `codec:"ids" required:"true" doc:"1 to 1000 members"`
}

// PoolRemoveResult counts the removed members.
type PoolRemoveResult struct {
	Removed int64 `codec:"removed" doc:"how many of them the pool had"`
	Total   int64 `codec:"total" doc:"how many members the pool has now"`
}

// PoolListParams select one page of the list.
type PoolListParams struct {
	Pool   string `codec:"pool" required:"true" doc:"the pool"`
	Scope  string `codec:"scope,omitempty" doc:"the scope whose last use and cooldowns to show"`
	Cursor string `codec:"cursor,omitempty" doc:"the cursor that the previous page returned; absent = the first page"`
	Count  int64  `codec:"count,omitempty" default:"100" min:"1" max:"1000" doc:"how many members to list"`
}

// PoolListResult is one page of the list.
type PoolListResult struct {
	Members []PoolEntry `codec:"members" doc:"the members of this page, in the order in which they were added"`
	Cursor  string      `codec:"cursor,omitempty" doc:"the cursor of the next page; absent = this was the last page"`
}

// PoolEntry is a member and its state.
type PoolEntry struct {
	ID           string  `codec:"id" doc:"the member"`
	Meta         string  `codec:"meta,omitempty" doc:"the text that pool.put gave it"`
	State        string  `codec:"state" enum:"free,leased,cooling,banned" doc:"its state; a member that is banned or cooling while it is still leased is leased"`
	ForMS        int64   `codec:"for_ms" doc:"milliseconds that this state lasts; 0 = free, -1 = until pool.unban"`
	HeldBy       *Holder `codec:"held_by,omitempty" doc:"the holder"`
	LastUsedAtMS int64   `codec:"last_used_at_ms" doc:"when it was last acquired in the scope, by the Redis server's clock, Unix milliseconds; 0 = never"`
	Failures     int64   `codec:"failures" doc:"failures in a row"`
	Breaker      string  `codec:"breaker,omitempty" enum:"closed,open,half_open,forced_open,forced_closed,disabled" doc:"the state of its breaker, if it has one"`
	PausedForMS  int64   `codec:"paused_for_ms,omitempty" doc:"milliseconds that it is still paused for permits"`
}

// PoolStatsParams select a pool.
type PoolStatsParams struct {
	Pool  string `codec:"pool" required:"true" doc:"the pool"`
	Scope string `codec:"scope,omitempty" doc:"the scope whose cooldowns count"`
}

// PoolStatsResult counts members by state: live, cooling, banned and free make total.
type PoolStatsResult struct {
	Total   int64 `codec:"total" doc:"members"`
	Live    int64 `codec:"live" doc:"leased members, even if they are also cooling or banned"`
	Cooling int64 `codec:"cooling" doc:"members that are not leased and are cooling down in the scope"`
	Banned  int64 `codec:"banned" doc:"members that are not leased and are banned"`
	Free    int64 `codec:"free" doc:"all other members"`
	Waiting int64 `codec:"waiting" doc:"calls in the scope's waiting line without a rule"`
	Open    int64 `codec:"open" doc:"members whose breaker is open or forced open, whatever their state"`
}

// PoolAcquireParams select the member to lease, and set how to hold it.
type PoolAcquireParams struct {
	Pool    string   `codec:"pool" required:"true" doc:"the pool"`
	LeaseMS int64    `codec:"lease_ms,omitempty" default:"60000" min:"100" max:"86400000" doc:"milliseconds that the lease lasts unless it is renewed"`
	WaitMS  int64    `codec:"wait_ms,omitempty" default:"0" min:"0" max:"60000" doc:"how many milliseconds the call may be in the waiting line, within its deadline; first come, first served across all pods"`
	Scope   string   `codec:"scope,omitempty" doc:"what the member is used for, such as a host; last use and cooldowns are kept for each scope on its own"`
	Exclude []string `codec:"exclude,omitempty" doc:"members not to take, at most 100"`
	Sticky  string   `codec:"sticky,omitempty" doc:"a name that the caller chooses: a later call with the same name gets the same member again, if it is available when it is that call's turn"`
	Bind    string   `codec:"bind,omitempty" default:"session" enum:"session,ttl" doc:"session = the sidecar renews it while this connection is open and gives it back when the connection closes; ttl = it does neither"`
}

// PoolAcquireResult is a member, or why there is none.
type PoolAcquireResult struct {
	Acquired     bool   `codec:"acquired" doc:"the member is leased to this caller"`
	ID           string `codec:"id,omitempty" doc:"the member"`
	Lease        string `codec:"lease,omitempty" doc:"the lease, for pool.renew and pool.release"`
	Fence        string `codec:"fence,omitempty" doc:"a decimal number that rises with every lease of the pool"`
	Meta         string `codec:"meta,omitempty" doc:"the text that pool.put gave the member"`
	LastUsedAtMS int64  `codec:"last_used_at_ms,omitempty" doc:"when it was last acquired in this scope before this call, Unix milliseconds; 0 = never"`
	RetryAfterMS int64  `codec:"retry_after_ms" doc:"0 when acquired; else milliseconds until the first member becomes available, rounded up; -1 = none will unless something changes"`
	NextAtMS     int64  `codec:"next_at_ms,omitempty" doc:"that instant, by the Redis server's clock, Unix milliseconds"`
	WaitedMS     int64  `codec:"waited_ms,omitempty" doc:"milliseconds that the call was in the waiting line before Redis was asked for the result, rounded down"`
	Replayed     bool   `codec:"replayed,omitempty" doc:"the call repeats an earlier one with the same request id, and this is about the lease of that one"`
	Reason       string `codec:"reason,omitempty" enum:"busy,cooling,banned,empty,released,expired" doc:"why there is none, for the member that becomes available first: busy = it is leased, or other calls are in the waiting line; cooling; banned; empty = the pool has no members except excluded ones; released or expired = how the lease of a repeated call ended"`
}

// PoolRenewParams are a lease and its new time.
type PoolRenewParams struct {
	Pool    string `codec:"pool" required:"true" doc:"the pool"`
	Lease   string `codec:"lease" required:"true" maxlen:"2048" doc:"the lease that pool.acquire returned"`
	LeaseMS int64  `codec:"lease_ms,omitempty" default:"60000" min:"100" max:"86400000" doc:"milliseconds that the lease lasts from now on"`
}

// PoolRenewResult reports whether the lease is still in force.
type PoolRenewResult struct {
	Renewed bool   `codec:"renewed" doc:"the member is leased for another lease_ms"`
	LeaseMS int64  `codec:"lease_ms" doc:"the least milliseconds that the lease has left; 0 when it is not in force"`
	Reason  string `codec:"reason" enum:"renewed,not_owner,expired" doc:"the outcome; not_owner = another owner holds it now; expired = this lease had ended"`
}

// The outcomes of using a member.
const (
	OutcomeOK        = "ok"
	OutcomeSoftBlock = "soft_block"
	OutcomeHardBlock = "hard_block"
	OutcomeTransport = "transport"
	OutcomeCaptcha   = "captcha"
	OutcomeFail      = "fail"
	OutcomeBan       = "ban"
	OutcomeCancelled = "cancelled"
)

// PoolReleaseParams are a lease and the outcome of using its member.
type PoolReleaseParams struct {
	Pool         string `codec:"pool" required:"true" doc:"the pool"`
	Lease        string `codec:"lease" required:"true" maxlen:"2048" doc:"the lease that pool.acquire returned"`
	Outcome      string `codec:"outcome,omitempty" default:"ok" enum:"ok,soft_block,hard_block,transport,captcha,fail,ban,cancelled" doc:"ok = clears the member's failures; cancelled = shows nothing about the member, for example because it was not used; ban = bans it; any other makes it cool down, longer with each one in a row; see docs/pool.md"`
	CooldownMS   int64  `codec:"cooldown_ms,omitempty" min:"0" max:"604800000" doc:"the least milliseconds that the member cools down in the scope, whatever the outcome"`
	UnbanAfterMS int64  `codec:"unban_after_ms,omitempty" min:"0" max:"31622400000" doc:"milliseconds that a ban from this call lasts; absent or 0 = until pool.unban"`
}

// PoolReleaseResult reports the outcome. A lease that has ended is a reason here, not an error.
type PoolReleaseResult struct {
	Released bool   `codec:"released" doc:"the lease was in force, and the member is given back"`
	Reason   string `codec:"reason" enum:"released,not_owner,expired" doc:"the outcome; not_owner = another owner holds it now; expired = this lease had ended"`
	State    string `codec:"state,omitempty" enum:"free,cooling,banned" doc:"the state of the member after the call"`
	NextAtMS int64  `codec:"next_at_ms,omitempty" doc:"when it becomes available, by the Redis server's clock, Unix milliseconds; 0 = now; -1 = after pool.unban"`
}

// PoolBanParams select a member, and set for how long it is banned.
type PoolBanParams struct {
	Pool  string `codec:"pool" required:"true" doc:"the pool"`
	ID    string `codec:"id" required:"true" doc:"the member"`
	ForMS int64  `codec:"for_ms,omitempty" min:"0" max:"31622400000" doc:"milliseconds that the ban lasts; absent or 0 = until pool.unban"`
}

// PoolUnbanParams select a member.
type PoolUnbanParams struct {
	Pool string `codec:"pool" required:"true" doc:"the pool"`
	ID   string `codec:"id" required:"true" doc:"the member"`
}

// PoolBanResult reports whether the member changed.
type PoolBanResult struct {
	Changed bool `codec:"changed" doc:"the call changed the member's state"`
}

// PermitAcquireParams select a member by its lease, its bucket and its breaker, and set how to hold it.
type PermitAcquireParams struct {
	Pool    string   `codec:"pool" required:"true" doc:"the pool"`
	Rule    string   `codec:"rule,omitempty" doc:"the rule (token_bucket), under which each member has its own bucket; absent = no limit"`
	Breaker string   `codec:"breaker,omitempty" doc:"the policy of the members' breakers (default = the built-in one); absent = breakers are not used"`
	Cost    int64    `codec:"cost,omitempty" default:"1" min:"0" max:"1000000000" doc:"how much is taken from the member's bucket"`
	LeaseMS int64    `codec:"lease_ms,omitempty" default:"60000" min:"100" max:"86400000" doc:"milliseconds that the lease lasts unless it is renewed"`
	WaitMS  int64    `codec:"wait_ms,omitempty" default:"0" min:"0" max:"60000" doc:"how many milliseconds the call may be in the waiting line of this pool, scope, rule and breaker, within its deadline; first come, first served across all pods"`
	Scope   string   `codec:"scope,omitempty" doc:"as for pool.acquire"`
	Exclude []string `codec:"exclude,omitempty" doc:"members not to take, at most 100"`
	Sticky  string   `codec:"sticky,omitempty" doc:"as for pool.acquire"`
	Bind    string   `codec:"bind,omitempty" default:"session" enum:"session,ttl" doc:"session = the sidecar renews it while this connection is open and gives it back when the connection closes; ttl = it does neither"`
}

// PermitAcquireResult is a member that can be used now, or why there is none.
type PermitAcquireResult struct {
	Acquired     bool   `codec:"acquired" doc:"the member is leased to this caller, and the cost is taken"`
	ID           string `codec:"id,omitempty" doc:"the member"`
	Lease        string `codec:"lease,omitempty" doc:"the lease, for permit.renew and permit.report"`
	Fence        string `codec:"fence,omitempty" doc:"a decimal number that rises with every lease of the pool"`
	Meta         string `codec:"meta,omitempty" doc:"the text that pool.put gave the member"`
	Generation   int64  `codec:"generation,omitempty" doc:"the generation of its breaker; permit.report uses it by itself"`
	Probe        bool   `codec:"probe,omitempty" doc:"its breaker is half open, and this permit is a probe"`
	Remaining    int64  `codec:"remaining" doc:"how much is left in the member's bucket, rounded down"`
	LastUsedAtMS int64  `codec:"last_used_at_ms,omitempty" doc:"when it was last acquired in this scope before this call, Unix milliseconds; 0 = never"`
	RetryAfterMS int64  `codec:"retry_after_ms" doc:"0 when acquired; else milliseconds until the first member becomes available, rounded up; -1 = none will unless something changes"`
	NextAtMS     int64  `codec:"next_at_ms,omitempty" doc:"that instant, by the Redis server's clock, Unix milliseconds"`
	WaitedMS     int64  `codec:"waited_ms,omitempty" doc:"milliseconds that the call was in the waiting line before Redis was asked for the result, rounded down"`
	Replayed     bool   `codec:"replayed,omitempty" doc:"the call repeats an earlier one with the same request id, and this is about the permit of that one"`
	DeniedBy     string `codec:"denied_by,omitempty" enum:"busy,cooling,banned,empty,open,limit,pause,released,expired" doc:"why there is none, for the member that becomes available first: as in pool.acquire, and open = its breaker is open; limit = its bucket has too little; pause = it is paused"`
}

// PermitReportParams are a permit and the outcome of its work.
type PermitReportParams struct {
	Pool         string `codec:"pool" required:"true" doc:"the pool"`
	Lease        string `codec:"lease" required:"true" maxlen:"2048" doc:"the lease that permit.acquire returned"`
	Outcome      string `codec:"outcome,omitempty" default:"ok" enum:"ok,soft_block,hard_block,transport,captcha,fail,ban,cancelled" doc:"as in pool.release; for the breaker, ok is a success, cancelled is ignored, and any other is a failure"`
	Status       int64  `codec:"status,omitempty" min:"0" max:"999" doc:"the HTTP status: one of the rule's penalty.codes pauses the member"`
	RetryAfterMS int64  `codec:"retry_after_ms,omitempty" zero:"-1" min:"-31622400000" max:"31622400000" doc:"the Retry-After of the server, in milliseconds; 0 or less (a date that has passed, for example) = it asks for no pause; absent = it gave none. The Go client omits a 0: give -1 there"`
	DurationMS   int64  `codec:"duration_ms,omitempty" min:"0" max:"86400000" doc:"milliseconds that the work took, for the breaker's slow rate"`
	CooldownMS   int64  `codec:"cooldown_ms,omitempty" min:"0" max:"604800000" doc:"the least milliseconds that the member cools down in the scope, whatever the outcome"`
	UnbanAfterMS int64  `codec:"unban_after_ms,omitempty" min:"0" max:"31622400000" doc:"milliseconds that a ban from this call lasts; absent or 0 = until pool.unban"`
}

// PermitReportResult reports the outcome. A lease that has ended is a reason here, not an error.
type PermitReportResult struct {
	Released bool   `codec:"released" doc:"the permit was in force, and its member is given back; false = nothing was counted"`
	Reason   string `codec:"reason" enum:"released,not_owner,expired" doc:"the outcome; not_owner = another owner holds it now; expired = this lease had ended"`
	State    string `codec:"state,omitempty" enum:"free,cooling,banned" doc:"the state of the member after the call"`
	Breaker  string `codec:"breaker,omitempty" enum:"closed,open,half_open,forced_open,forced_closed,disabled" doc:"the state of its breaker"`
	NextAtMS int64  `codec:"next_at_ms,omitempty" doc:"when it becomes available, by the Redis server's clock, Unix milliseconds; 0 = now; -1 = it will not unless something changes"`
}

// PermitRenewParams are a permit and its new time.
type PermitRenewParams struct {
	Pool    string `codec:"pool" required:"true" doc:"the pool"`
	Lease   string `codec:"lease" required:"true" maxlen:"2048" doc:"the lease that permit.acquire returned"`
	LeaseMS int64  `codec:"lease_ms,omitempty" default:"60000" min:"100" max:"86400000" doc:"milliseconds that the lease lasts from now on"`
}

// PoolPoolsParams select one page of the list.
type PoolPoolsParams struct {
	Cursor string `codec:"cursor,omitempty" doc:"the cursor that the previous page returned; absent = the first page"`
	Count  int64  `codec:"count,omitempty" default:"100" min:"1" max:"1000" doc:"about how many entries to list"`
	State  string `codec:"state,omitempty" enum:"exhausted,waited" doc:"exhausted = only pools without a free member; waited = only those with calls in their waiting lines; absent = all"`
}

// PoolExhausted selects, as the state of pool.pools, pools without a free member.
const PoolExhausted = "exhausted"

// PoolPoolsResult is one page of the list.
type PoolPoolsResult struct {
	Pools  []PoolListed `codec:"pools" doc:"the pools of this page; a page may be empty without being the last"`
	Cursor string       `codec:"cursor,omitempty" doc:"the cursor of the next page; absent = this was the last page"`
}

// PoolListed is a pool in the list. Its counts are those outside of any scope: live, cooling, banned and free make total.
type PoolListed struct {
	Pool    string       `codec:"pool" doc:"the pool"`
	Total   int64        `codec:"total" doc:"members"`
	Live    int64        `codec:"live" doc:"leased members, even if they are also cooling or banned"`
	Cooling int64        `codec:"cooling" doc:"members that are not leased and are cooling down outside of any scope"`
	Banned  int64        `codec:"banned" doc:"members that are not leased and are banned"`
	Free    int64        `codec:"free" doc:"all other members"`
	Open    int64        `codec:"open" doc:"members whose breaker is open or forced open, whatever their state"`
	Lines   int64        `codec:"lines" doc:"how many waiting lines with calls it has; there is one line for each scope, rule and breaker policy"`
	Holders []PoolHolder `codec:"holders" doc:"leased members and their holders, in the order in which their leases end, at most 3"`
}

// PoolHolder is a leased member and the client that holds it.
type PoolHolder struct {
	ID     string  `codec:"id" doc:"the member"`
	LeftMS int64   `codec:"left_ms" doc:"milliseconds until the lease ends unless it is renewed, rounded up"`
	HeldBy *Holder `codec:"held_by" doc:"the holder"`
}

// PoolExplainParams describe the acquisition to explain.
type PoolExplainParams struct {
	Pool    string   `codec:"pool" required:"true" doc:"the pool"`
	Scope   string   `codec:"scope,omitempty" doc:"as for pool.acquire"`
	Exclude []string `codec:"exclude,omitempty" doc:"members not to take, at most 100"`
	ID      string   `codec:"id,omitempty" doc:"only this member"`
}

// PermitExplainParams describe the acquisition to explain.
type PermitExplainParams struct {
	Pool    string   `codec:"pool" required:"true" doc:"the pool"`
	Rule    string   `codec:"rule,omitempty" doc:"as for permit.acquire"`
	Breaker string   `codec:"breaker,omitempty" doc:"as for permit.acquire"`
	Cost    int64    `codec:"cost,omitempty" default:"1" min:"0" max:"1000000000" doc:"as for permit.acquire"`
	Scope   string   `codec:"scope,omitempty" doc:"as for pool.acquire"`
	Exclude []string `codec:"exclude,omitempty" doc:"members not to take, at most 100"`
	ID      string   `codec:"id,omitempty" doc:"only this member"`
}

// PoolExplainResult is what an acquisition of a member would return, and everything that decides it.
type PoolExplainResult struct {
	Decision     string `codec:"decision" enum:"acquired,busy,cooling,banned,empty,open,limit,pause" doc:"what a call without wait_ms would get now: acquired, or why there is no member, for the one that becomes available first: busy = it is leased, or other calls are in the waiting line; cooling; banned; empty = there is no such member; open = its breaker is open; limit = its bucket has too little; pause = it is paused"`
	RetryAfterMS int64  `codec:"retry_after_ms" doc:"0 when a member would be acquired; else milliseconds until the first one becomes available, rounded up; -1 = none will unless something changes"`
	Text         string `codec:"text" doc:"the decision as a sentence for people"`
	ID           string `codec:"id,omitempty" doc:"the member that would be acquired, or else the one that becomes available first"`
	Members      int64  `codec:"members" doc:"how many members were considered: all except excluded ones, or the one of id"`
	Free         int64  `codec:"free" doc:"how many of them are available now"`

	Reasons  []ExplainReason `codec:"reasons" doc:"why the others are not available, in the order in which they become available; each member is counted under the reason that lasts longest"`
	Holders  []PoolHolder    `codec:"holders" doc:"leased members and their holders, in the order in which their leases end, at most 20"`
	Rule     string          `codec:"rule,omitempty" doc:"the rule of a permit"`
	Limits   []string        `codec:"limits,omitempty" doc:"the rule's bands for the member of id, as limit/period, such as 80/10m"`
	Override bool            `codec:"override,omitempty" doc:"limits are those of an override for that member"`
	Shadow   bool            `codec:"shadow,omitempty" doc:"the rule is in shadow: it refuses nothing"`
	Breaker  string          `codec:"breaker,omitempty" doc:"the policy of the members' breakers, for a permit"`

	Waiting int64         `codec:"waiting" doc:"how many calls are in the waiting line of this pool, scope, rule and breaker"`
	Line    []ExplainLine `codec:"line" doc:"which sidecars these calls belong to, as in lock.explain"`
}

// ExplainReason is a reason why members are not available.
type ExplainReason struct {
	Reason  string `codec:"reason" enum:"busy,cooling,banned,open,limit,pause" doc:"the reason, as in decision"`
	Members int64  `codec:"members" doc:"how many members it applies to"`
	ID      string `codec:"id" doc:"the one of them that becomes available first"`
	AfterMS int64  `codec:"after_ms" doc:"milliseconds until then, rounded up; -1 = never, unless something changes"`
}
