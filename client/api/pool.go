package api

// The methods of a pool: named members of which each is one caller's at a time.
var (
	PoolPut = define[PoolPutParams, PoolPutResult](Spec{
		Name: "pool.put", Idempotent: true, Admin: true, Since: "0.1.0",
		Summary: "Adds members to a pool, and replaces the meta of those that are there; these keep their state, bans included.",
	})
	PoolRemove = define[PoolRemoveParams, PoolRemoveResult](Spec{
		Name: "pool.remove", Idempotent: true, Admin: true, Since: "0.1.0",
		Summary: "Removes members from a pool, and forgets their state. Who has one is told when it renews.",
	})
	PoolList = define[PoolListParams, PoolListResult](Spec{
		Name: "pool.list", Idempotent: true, Since: "0.1.0",
		Summary: "Lists the members of a pool and their states, a page at a time, in the order in which they came.",
	})
	PoolPools = define[PoolPoolsParams, PoolPoolsResult](Spec{
		Name: "pool.pools", Idempotent: true, Since: "0.1.0",
		Summary: "Lists the pools that have members, and counts these, a page at a time, in no order. What changes meanwhile may be missing or be there still.",
	})
	PoolExplain = define[PoolExplainParams, PoolExplainResult](Spec{
		Name: "pool.explain", Idempotent: true, Since: "0.1.0",
		Summary: "Tells which member pool.acquire would lease now, or why none and until when: what keeps each member, who " +
			"holds them and who stands in line. It takes nothing.",
	})
	PoolStats = define[PoolStatsParams, PoolStatsResult](Spec{
		Name: "pool.stats", Idempotent: true, Since: "0.1.0",
		Summary: "Counts the members of a pool: live, cooling, banned and free ones are all there are.",
	})
	PoolAcquire = define[PoolAcquireParams, PoolAcquireResult](Spec{
		Name: "pool.acquire", Since: "0.1.0",
		Summary: "Leases the least recently used member that is not leased, cooling or banned, at once or in turn within wait_ms.",
	})
	PoolRenew = define[PoolRenewParams, PoolRenewResult](Spec{
		Name: "pool.renew", Idempotent: true, Since: "0.1.0",
		Summary: "Renews the lease of a member: it lasts so long from now on, shorter or longer. " +
			"Those bound to the session are renewed by the sidecar, so from then on.",
	})
	PoolRelease = define[PoolReleaseParams, PoolReleaseResult](Spec{
		Name: "pool.release", Idempotent: true, Notify: true, Since: "0.1.0",
		Summary: "Gives a member back and says how it did.",
	})
	PoolBan = define[PoolBanParams, PoolBanResult](Spec{
		Name: "pool.ban", Idempotent: true, Admin: true, Since: "0.1.0",
		Summary: "Takes a member out of use, for a time or until pool.unban. Who has it keeps it until it is given back.",
	})
	PoolUnban = define[PoolUnbanParams, PoolBanResult](Spec{
		Name: "pool.unban", Idempotent: true, Admin: true, Since: "0.1.0",
		Summary: "Lifts the ban of a member, and forgets its failures and cooldowns.",
	})
	PoolLost = defineEvent[LostParams](Spec{
		Name: "pool.lost", Since: "0.1.0",
		Summary: "A member of this connection is no longer its own: name is the pool, token the lease. Sent before its validity ends.",
	})

	PermitAcquire = define[PermitAcquireParams, PermitAcquireResult](Spec{
		Name: "permit.acquire", Since: "0.1.0",
		Summary: "Leases the least recently used member that is free, whose breaker is not open and whose bucket has the cost: all decided and taken in one step.",
	})
	PermitReport = define[PermitReportParams, PermitReportResult](Spec{
		Name: "permit.report", Idempotent: true, Notify: true, Since: "0.1.0",
		Summary: "Gives a permit's member back and tells its breaker, its cooldown and its pause how the work went, in one step.",
	})
	PermitExplain = define[PermitExplainParams, PoolExplainResult](Spec{
		Name: "permit.explain", Idempotent: true, Since: "0.1.0",
		Summary: "Tells which member permit.acquire would lease now, or why none and until when: " +
			"members, their breakers, buckets and pauses, who holds them and who stands in line. It takes nothing.",
	})
	PermitRenew = define[PermitRenewParams, PoolRenewResult](Spec{
		Name: "permit.renew", Idempotent: true, Since: "0.1.0",
		Summary: "Renews a permit: it lasts so long from now on, shorter or longer. Those bound to the session are renewed by the sidecar, so from then on.",
	})
	PermitLost = defineEvent[LostParams](Spec{
		Name: "permit.lost", Since: "0.1.0",
		Summary: "The member of a permit is no longer this connection's: name is the pool, token the lease. Sent before its validity ends.",
	})
)

// MaxPoolMembers is the most members of one pool.
const MaxPoolMembers = 10_000

// DefaultMemberLeaseMS is how long a member is leased where nothing is said of it.
const DefaultMemberLeaseMS = 60_000

// MaxExcluded is the most members that one acquisition may exclude.
const MaxExcluded = 100

// PoolMember is one named resource, such as an account, a proxy or a User-Agent.
type PoolMember struct {
	ID   string `codec:"id" required:"true" doc:"the member"`
	Meta string `codec:"meta,omitempty" maxlen:"4096" doc:"given to who acquires it, at most 4096 bytes"`
}

// PoolPutParams are members to be there.
type PoolPutParams struct {
	Pool    string       `codec:"pool" required:"true" doc:"the pool; the first member makes it, and at most 10000 are in one"`
	Members []PoolMember `codec:"members" required:"true" doc:"1 to 1000 members"`
}

// PoolPutResult says what was new.
type PoolPutResult struct {
	Added int64 `codec:"added" doc:"how many were not there before"`
	Total int64 `codec:"total" doc:"how many there are now"`
}

// PoolRemoveParams are members to be gone.
type PoolRemoveParams struct {
	Pool string   `codec:"pool" required:"true" doc:"the pool"`
	IDs  []string `codec:"ids" required:"true" doc:"1 to 1000 members"`
}

// PoolRemoveResult says what was there.
type PoolRemoveResult struct {
	Removed int64 `codec:"removed" doc:"how many were there"`
	Total   int64 `codec:"total" doc:"how many there are now"`
}

// PoolListParams say where to go on.
type PoolListParams struct {
	Pool   string `codec:"pool" required:"true" doc:"the pool"`
	Scope  string `codec:"scope,omitempty" doc:"whose use and cooldowns to show"`
	Cursor string `codec:"cursor,omitempty" doc:"the cursor of the page before; absent = from the start"`
	Count  int64  `codec:"count,omitempty" default:"100" min:"1" max:"1000" doc:"how many to list"`
}

// PoolListResult is one page.
type PoolListResult struct {
	Members []PoolEntry `codec:"members" doc:"those of this page, in the order in which they came"`
	Cursor  string      `codec:"cursor,omitempty" doc:"where the next page begins; absent = this was the last"`
}

// PoolEntry is one member and its state.
type PoolEntry struct {
	ID           string  `codec:"id" doc:"the member"`
	Meta         string  `codec:"meta,omitempty" doc:"what was put with it"`
	State        string  `codec:"state" enum:"free,leased,cooling,banned" doc:"its state; a banned or cooling one that is still leased is leased"`
	ForMS        int64   `codec:"for_ms" doc:"milliseconds that this lasts; 0 when free, -1 = until pool.unban"`
	HeldBy       *Holder `codec:"held_by,omitempty" doc:"who has it"`
	LastUsedAtMS int64   `codec:"last_used_at_ms" doc:"when it was last acquired in the scope, by the Redis server's clock, Unix milliseconds; 0 = never"`
	Failures     int64   `codec:"failures" doc:"failures in a row"`
	Breaker      string  `codec:"breaker,omitempty" enum:"closed,open,half_open,forced_open,forced_closed,disabled" doc:"the state of its breaker, if it has one"`
	PausedForMS  int64   `codec:"paused_for_ms,omitempty" doc:"milliseconds that permits of it are paused for"`
}

// PoolStatsParams name a pool.
type PoolStatsParams struct {
	Pool  string `codec:"pool" required:"true" doc:"the pool"`
	Scope string `codec:"scope,omitempty" doc:"whose cooldowns count"`
}

// PoolStatsResult counts: live, cooling, banned and free make total.
type PoolStatsResult struct {
	Total   int64 `codec:"total" doc:"members"`
	Live    int64 `codec:"live" doc:"those that are leased, whatever else they are"`
	Cooling int64 `codec:"cooling" doc:"of the others, those that are cooling down in the scope"`
	Banned  int64 `codec:"banned" doc:"of the others, those that are banned"`
	Free    int64 `codec:"free" doc:"the rest"`
	Waiting int64 `codec:"waiting" doc:"calls that stand in line in the scope without a rule"`
	Open    int64 `codec:"open" doc:"members whose breaker is open or forced open, whatever else they are"`
}

// PoolAcquireParams say what member to take, and for how long.
type PoolAcquireParams struct {
	Pool    string   `codec:"pool" required:"true" doc:"the pool"`
	LeaseMS int64    `codec:"lease_ms,omitempty" default:"60000" min:"100" max:"86400000" doc:"milliseconds until it is free again unless renewed"`
	WaitMS  int64    `codec:"wait_ms,omitempty" default:"0" min:"0" max:"60000" doc:"milliseconds to stand in line, within the call's deadline; first come, first served across all pods"`
	Scope   string   `codec:"scope,omitempty" doc:"what it is used for, such as a host: least recent use and cooldowns are of each scope alone"`
	Exclude []string `codec:"exclude,omitempty" doc:"members not to take, at most 100"`
	Sticky  string   `codec:"sticky,omitempty" doc:"who comes back: in its turn the same name gets the same member again, if that can be had then"`
	Bind    string   `codec:"bind,omitempty" default:"session" enum:"session,ttl" doc:"session = renewed while this connection lives and given back when it closes; ttl = neither"`
}

// PoolAcquireResult is a member, or why there is none.
type PoolAcquireResult struct {
	Acquired     bool   `codec:"acquired" doc:"the member is this caller's"`
	ID           string `codec:"id,omitempty" doc:"the member"`
	Lease        string `codec:"lease,omitempty" doc:"for pool.renew and release"`
	Fence        string `codec:"fence,omitempty" doc:"a decimal number that rises with every lease of the pool"`
	Meta         string `codec:"meta,omitempty" doc:"what was put with the member"`
	LastUsedAtMS int64  `codec:"last_used_at_ms,omitempty" doc:"when it was acquired before in this scope, Unix milliseconds; 0 = never"`
	RetryAfterMS int64  `codec:"retry_after_ms" doc:"0 when acquired; else milliseconds until the soonest member may be had, rounded up; -1 = none ever, as things are"`
	NextAtMS     int64  `codec:"next_at_ms,omitempty" doc:"that instant, by the Redis server's clock, Unix milliseconds"`
	WaitedMS     int64  `codec:"waited_ms,omitempty" doc:"milliseconds it stood in line until the answer was asked for, rounded down"`
	Replayed     bool   `codec:"replayed,omitempty" doc:"the answer is about an earlier lease with the same request id"`
	Reason       string `codec:"reason,omitempty" enum:"busy,cooling,banned,empty,released,expired" doc:"why there is none, by the member that is soonest: busy = leased, or others are waiting; cooling; banned; empty = there is no member but excluded ones; released or expired = what became of a replayed lease"`
}

// PoolRenewParams name a lease.
type PoolRenewParams struct {
	Pool    string `codec:"pool" required:"true" doc:"the pool"`
	Lease   string `codec:"lease" required:"true" maxlen:"2048" doc:"what pool.acquire answered"`
	LeaseMS int64  `codec:"lease_ms,omitempty" default:"60000" min:"100" max:"86400000" doc:"milliseconds from now until it is free again"`
}

// PoolRenewResult says whether the member is still this lease's.
type PoolRenewResult struct {
	Renewed bool   `codec:"renewed" doc:"it is leased for lease_ms more"`
	LeaseMS int64  `codec:"lease_ms" doc:"milliseconds left at least; 0 when it is not this lease's"`
	Reason  string `codec:"reason" enum:"renewed,not_owner,expired" doc:"what was found"`
}

// The outcomes of a member's use.
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

// PoolReleaseParams name a lease, and how its member did.
type PoolReleaseParams struct {
	Pool         string `codec:"pool" required:"true" doc:"the pool"`
	Lease        string `codec:"lease" required:"true" maxlen:"2048" doc:"what pool.acquire answered"`
	Outcome      string `codec:"outcome,omitempty" default:"ok" enum:"ok,soft_block,hard_block,transport,captcha,fail,ban,cancelled" doc:"ok = forgets failures; cancelled = says nothing of the member, as when it was not used; ban = banned; the others cool down, longer with each in a row; see docs/pool.md"`
	CooldownMS   int64  `codec:"cooldown_ms,omitempty" min:"0" max:"604800000" doc:"milliseconds to cool down in the scope at least, whatever the outcome"`
	UnbanAfterMS int64  `codec:"unban_after_ms,omitempty" min:"0" max:"31622400000" doc:"milliseconds that a ban by this call lasts; absent or 0 = until pool.unban"`
}

// PoolReleaseResult says what was found, as data.
type PoolReleaseResult struct {
	Released bool   `codec:"released" doc:"the member was this lease's and is given back"`
	Reason   string `codec:"reason" enum:"released,not_owner,expired" doc:"what was found"`
	State    string `codec:"state,omitempty" enum:"free,cooling,banned" doc:"what the member is now"`
	NextAtMS int64  `codec:"next_at_ms,omitempty" doc:"when it may be had again, by the Redis server's clock, Unix milliseconds; 0 = now; -1 = after pool.unban"`
}

// PoolBanParams name a member, and for how long it is banned.
type PoolBanParams struct {
	Pool  string `codec:"pool" required:"true" doc:"the pool"`
	ID    string `codec:"id" required:"true" doc:"the member"`
	ForMS int64  `codec:"for_ms,omitempty" min:"0" max:"31622400000" doc:"milliseconds that it lasts; absent or 0 = until pool.unban"`
}

// PoolUnbanParams name a member.
type PoolUnbanParams struct {
	Pool string `codec:"pool" required:"true" doc:"the pool"`
	ID   string `codec:"id" required:"true" doc:"the member"`
}

// PoolBanResult says what changed.
type PoolBanResult struct {
	Changed bool `codec:"changed" doc:"the member was not so before"`
}

// PermitAcquireParams are those of a pool's member, its bucket and its breaker.
type PermitAcquireParams struct {
	Pool    string   `codec:"pool" required:"true" doc:"the pool"`
	Rule    string   `codec:"rule,omitempty" doc:"the rule (token_bucket) of which each member has a bucket of its own; absent = no limit"`
	Breaker string   `codec:"breaker,omitempty" doc:"the policy of the members' breakers, default for the built-in one; absent = breakers are not asked"`
	Cost    int64    `codec:"cost,omitempty" default:"1" min:"0" max:"1000000000" doc:"what is taken from the member's bucket"`
	LeaseMS int64    `codec:"lease_ms,omitempty" default:"60000" min:"100" max:"86400000" doc:"milliseconds until it is free again unless renewed"`
	WaitMS  int64    `codec:"wait_ms,omitempty" default:"0" min:"0" max:"60000" doc:"milliseconds to stand in line, within the call's deadline; first come, first served across all pods for the same pool, scope, rule and breaker"`
	Scope   string   `codec:"scope,omitempty" doc:"as for pool.acquire"`
	Exclude []string `codec:"exclude,omitempty" doc:"members not to take, at most 100"`
	Sticky  string   `codec:"sticky,omitempty" doc:"as for pool.acquire"`
	Bind    string   `codec:"bind,omitempty" default:"session" enum:"session,ttl" doc:"session = renewed while this connection lives and given back when it closes; ttl = neither"`
}

// PermitAcquireResult is a member that may be used now, or why there is none.
type PermitAcquireResult struct {
	Acquired     bool   `codec:"acquired" doc:"the member is this caller's, and the cost is taken"`
	ID           string `codec:"id,omitempty" doc:"the member"`
	Lease        string `codec:"lease,omitempty" doc:"for permit.renew and report"`
	Fence        string `codec:"fence,omitempty" doc:"a decimal number that rises with every lease of the pool"`
	Meta         string `codec:"meta,omitempty" doc:"what was put with the member"`
	Generation   int64  `codec:"generation,omitempty" doc:"that of its breaker; permit.report knows it"`
	Probe        bool   `codec:"probe,omitempty" doc:"its breaker is half open, and this is a probe"`
	Remaining    int64  `codec:"remaining" doc:"what is left in the member's bucket, rounded down"`
	LastUsedAtMS int64  `codec:"last_used_at_ms,omitempty" doc:"when it was acquired before in this scope, Unix milliseconds; 0 = never"`
	RetryAfterMS int64  `codec:"retry_after_ms" doc:"0 when acquired; else milliseconds until the soonest member may be had, rounded up; -1 = none ever, as things are"`
	NextAtMS     int64  `codec:"next_at_ms,omitempty" doc:"that instant, by the Redis server's clock, Unix milliseconds"`
	WaitedMS     int64  `codec:"waited_ms,omitempty" doc:"milliseconds it stood in line until the answer was asked for, rounded down"`
	Replayed     bool   `codec:"replayed,omitempty" doc:"the answer is about an earlier permit with the same request id"`
	DeniedBy     string `codec:"denied_by,omitempty" enum:"busy,cooling,banned,empty,open,limit,pause,released,expired" doc:"why there is none, by the member that is soonest: as of pool.acquire; open = its breaker; limit = its bucket; pause = the server asked for it"`
}

// PermitReportParams name a permit, and how the work went.
type PermitReportParams struct {
	Pool         string `codec:"pool" required:"true" doc:"the pool"`
	Lease        string `codec:"lease" required:"true" maxlen:"2048" doc:"what permit.acquire answered"`
	Outcome      string `codec:"outcome,omitempty" default:"ok" enum:"ok,soft_block,hard_block,transport,captcha,fail,ban,cancelled" doc:"as of pool.release; to the breaker ok is a success, cancelled is ignored, and all else is a failure"`
	Status       int64  `codec:"status,omitempty" min:"0" max:"999" doc:"the HTTP status: one of the rule's penalty.codes pauses the member"`
	RetryAfterMS int64  `codec:"retry_after_ms,omitempty" zero:"-1" min:"-31622400000" max:"31622400000" doc:"milliseconds the server asks to stay away; 0 or less, such as for a date that has passed = it asks for no pause; absent = it did not say. The Go client leaves a 0 out: there it is -1"`
	DurationMS   int64  `codec:"duration_ms,omitempty" min:"0" max:"86400000" doc:"milliseconds that the work took, for the breaker's slow rate"`
	CooldownMS   int64  `codec:"cooldown_ms,omitempty" min:"0" max:"604800000" doc:"milliseconds to cool down in the scope at least, whatever the outcome"`
	UnbanAfterMS int64  `codec:"unban_after_ms,omitempty" min:"0" max:"31622400000" doc:"milliseconds that a ban by this call lasts; absent or 0 = until pool.unban"`
}

// PermitReportResult says what was found, as data.
type PermitReportResult struct {
	Released bool   `codec:"released" doc:"the member was this permit's and is given back; else nothing was counted"`
	Reason   string `codec:"reason" enum:"released,not_owner,expired" doc:"what was found"`
	State    string `codec:"state,omitempty" enum:"free,cooling,banned" doc:"what the member is now"`
	Breaker  string `codec:"breaker,omitempty" enum:"closed,open,half_open,forced_open,forced_closed,disabled" doc:"the state of its breaker"`
	NextAtMS int64  `codec:"next_at_ms,omitempty" doc:"when it may be had again, by the Redis server's clock, Unix milliseconds; 0 = now; -1 = not as things are"`
}

// PermitRenewParams name a permit.
type PermitRenewParams struct {
	Pool    string `codec:"pool" required:"true" doc:"the pool"`
	Lease   string `codec:"lease" required:"true" maxlen:"2048" doc:"what permit.acquire answered"`
	LeaseMS int64  `codec:"lease_ms,omitempty" default:"60000" min:"100" max:"86400000" doc:"milliseconds from now until it is free again"`
}

// PoolPoolsParams say where to go on.
type PoolPoolsParams struct {
	Cursor string `codec:"cursor,omitempty" doc:"the cursor of the page before; absent = from the start"`
	Count  int64  `codec:"count,omitempty" default:"100" min:"1" max:"1000" doc:"about how many to list"`
	State  string `codec:"state,omitempty" enum:"exhausted,waited" doc:"exhausted = only those without a free member; waited = only those that calls stand in line for; absent = all"`
}

// PoolExhausted is the state, for pool.pools, of a pool without a free member.
const PoolExhausted = "exhausted"

// PoolPoolsResult is one page.
type PoolPoolsResult struct {
	Pools  []PoolListed `codec:"pools" doc:"those of this page; it may have none and not be the last"`
	Cursor string       `codec:"cursor,omitempty" doc:"where the next page begins; absent = this was the last"`
}

// PoolListed is one pool. Live, cooling, banned and free make total, in no scope.
type PoolListed struct {
	Pool    string       `codec:"pool" doc:"the pool"`
	Total   int64        `codec:"total" doc:"members"`
	Live    int64        `codec:"live" doc:"those that are leased, whatever else they are"`
	Cooling int64        `codec:"cooling" doc:"of the others, those that are cooling down outside of any scope"`
	Banned  int64        `codec:"banned" doc:"of the others, those that are banned"`
	Free    int64        `codec:"free" doc:"the rest"`
	Open    int64        `codec:"open" doc:"members whose breaker is open or forced open, whatever else they are"`
	Lines   int64        `codec:"lines" doc:"in how many waiting lines calls stand: there is one for each scope, rule and breaker policy"`
	Holders []PoolHolder `codec:"holders" doc:"who has members, by when their leases end; at most 3"`
}

// PoolHolder is a client that has a member.
type PoolHolder struct {
	ID     string  `codec:"id" doc:"the member"`
	LeftMS int64   `codec:"left_ms" doc:"milliseconds until the lease ends unless it is renewed, rounded up"`
	HeldBy *Holder `codec:"held_by" doc:"who has it"`
}

// PoolExplainParams say which acquisition to explain.
type PoolExplainParams struct {
	Pool    string   `codec:"pool" required:"true" doc:"the pool"`
	Scope   string   `codec:"scope,omitempty" doc:"as for pool.acquire"`
	Exclude []string `codec:"exclude,omitempty" doc:"members not to take, at most 100"`
	ID      string   `codec:"id,omitempty" doc:"only this member"`
}

// PermitExplainParams say which acquisition to explain.
type PermitExplainParams struct {
	Pool    string   `codec:"pool" required:"true" doc:"the pool"`
	Rule    string   `codec:"rule,omitempty" doc:"as for permit.acquire"`
	Breaker string   `codec:"breaker,omitempty" doc:"as for permit.acquire"`
	Cost    int64    `codec:"cost,omitempty" default:"1" min:"0" max:"1000000000" doc:"as for permit.acquire"`
	Scope   string   `codec:"scope,omitempty" doc:"as for pool.acquire"`
	Exclude []string `codec:"exclude,omitempty" doc:"members not to take, at most 100"`
	ID      string   `codec:"id,omitempty" doc:"only this member"`
}

// PoolExplainResult has the answer to an acquisition of a member, and all that decides about it.
type PoolExplainResult struct {
	Decision     string `codec:"decision" enum:"acquired,busy,cooling,banned,empty,open,limit,pause" doc:"what a call without wait_ms would be told now: acquired, or why there is none, by the member that is soonest: busy = leased, or others are waiting; cooling; banned; empty = there is no such member; open = its breaker; limit = its bucket; pause = the server asked for it"`
	RetryAfterMS int64  `codec:"retry_after_ms" doc:"0 when one would be acquired; else milliseconds until the soonest member may be had, rounded up; -1 = none ever, as things are"`
	Text         string `codec:"text" doc:"the same as a sentence for people"`
	ID           string `codec:"id,omitempty" doc:"the member that would be acquired, else the one that is soonest"`
	Members      int64  `codec:"members" doc:"members that were looked at: all but excluded ones, or that of id"`
	Free         int64  `codec:"free" doc:"those that may be had now"`

	Reasons  []ExplainReason `codec:"reasons" doc:"why the others may not be had, each member by what keeps it longest, the soonest first"`
	Holders  []PoolHolder    `codec:"holders" doc:"who has members, by when their leases end; at most 20"`
	Rule     string          `codec:"rule,omitempty" doc:"the rule, of a permit"`
	Limits   []string        `codec:"limits,omitempty" doc:"what it allows the member of id, as limit/period, such as 80/10m"`
	Override bool            `codec:"override,omitempty" doc:"these limits are those of an override, for that member alone"`
	Shadow   bool            `codec:"shadow,omitempty" doc:"the rule refuses nothing"`
	Breaker  string          `codec:"breaker,omitempty" doc:"the policy of the members' breakers, of a permit"`

	Waiting int64         `codec:"waiting" doc:"how many calls stand in line for the same pool, scope, rule and breaker"`
	Line    []ExplainLine `codec:"line" doc:"whose they are, as of lock.explain"`
}

// ExplainReason is one reason for which members may not be had.
type ExplainReason struct {
	Reason  string `codec:"reason" enum:"busy,cooling,banned,open,limit,pause" doc:"what keeps them, as decision says it"`
	Members int64  `codec:"members" doc:"how many it keeps"`
	ID      string `codec:"id" doc:"the one of them that may be had first"`
	AfterMS int64  `codec:"after_ms" doc:"milliseconds until then, rounded up; -1 = never, as things are"`
}
