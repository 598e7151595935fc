package lua

import "slices"

// PermitAcquire leases the least recently used member that may be had, whose
// breaker lets it pass and whose bucket has the cost: all is decided and taken in
// the one run. Repeated with the same token it answers the same member, as long as
// the lease lives.
var PermitAcquire = define[PermitAcquireIn](Source{
	Name:       "permit_acquire",
	Keys:       names(poolKeys, viewKeys, []string{"sticky", "buckets"}),
	Args:       names(poolAcquireArgs, []string{"cost", "revision", "signature", "overrides", "policy"}),
	Returns:    names(poolAcquireReturns, []string{"generation", "probe", "remaining"}),
	Idempotent: true,
	Latched:    true,
}, func(r *Reply) PermitAcquireOut {
	return PermitAcquireOut{PoolAcquireOut: readPoolAcquire(r), Generation: r.Int(), Probe: r.Bool(), Remaining: r.Int()}
})

// PermitAcquireIn is one try to get a permit.
type PermitAcquireIn struct {
	PoolAcquireIn
	Buckets string // key: those of the members under the rule
	Cost    int64
	// Revision and Signature are of the rule (token_bucket), as in RatelimitIn; an
	// empty Signature asks for no bucket.
	Revision  int64
	Signature string
	// Overrides are the signatures of those members that have bands of their own.
	Overrides map[string]string
	// Policy is that of the breakers as text (see prelude_breaker.lua); an empty one
	// does not ask them.
	Policy string
}

func (in PermitAcquireIn) keys(to []string) []string {
	return append(in.PoolAcquireIn.keys(to), in.Buckets)
}

func (in PermitAcquireIn) args(to []any) []any {
	list := make([]string, 0, 2*len(in.Overrides))
	for member := range in.Overrides {
		list = append(list, member)
	}
	slices.Sort(list)
	for i, n := 0, len(list); i < n; i++ {
		list = slices.Insert(list, 2*i+1, in.Overrides[list[2*i]])
	}
	return append(in.PoolAcquireIn.args(to), in.Cost, in.Revision, in.Signature, texts(list), in.Policy)
}

// PermitAcquireOut is a member that may be used now, or why there is none.
type PermitAcquireOut struct {
	PoolAcquireOut
	// Generation is that of its breaker; 0 when that was not asked.
	Generation int64
	// Probe: its breaker is half open, and this is a probe.
	Probe     bool
	Remaining int64 // of its bucket, rounded down
}

// PermitReport gives a permit's member back and tells its breaker, its cooldown and
// its pause how the work went.
var PermitReport = define[PermitReportIn](Source{
	Name:       "permit_report",
	Keys:       names(poolKeys, releaseKeys),
	Args:       names(poolReleaseArgs, []string{"heard", "duration_us", "pause_us", "jitter", "channel"}),
	Returns:    names(poolReleaseReturns, []string{"was", "breaker"}),
	Idempotent: true,
}, func(r *Reply) PermitReportOut {
	return PermitReportOut{PoolReleaseOut: readPoolRelease(r), Was: r.Str(), Breaker: r.Str()}
})

// PermitReportIn is a permit, and how the work went.
type PermitReportIn struct {
	PoolReleaseIn
	// Heard is what its breaker is told: success, failure or ignored. The policy is
	// the one it was acquired under.
	Heard      string
	DurationUS int64
	// PauseUS is how long from now on no permits of the member are given out; 0 =
	// that was not asked for.
	PauseUS int64
	// Jitter is the policy's, thousandths, should the breaker open.
	Jitter int64
	// Channel is where a change of the breaker's state is broadcast.
	Channel string
}

func (in PermitReportIn) args(to []any) []any {
	return append(in.PoolReleaseIn.args(to), in.Heard, in.DurationUS, in.PauseUS, in.Jitter, in.Channel)
}

// PermitReportOut says what was found, and what the member and its breaker are since.
type PermitReportOut struct {
	PoolReleaseOut
	// Was and Breaker are the breaker's states before and after; empty when it was
	// not asked for the permit, or nothing was counted.
	Was, Breaker string
}

// RatelimitMember charges the bucket of a pool's member without leasing it, looks
// at it, or resets it.
var RatelimitMember = define[RatelimitMemberIn](Source{
	Name:    "ratelimit_member",
	Keys:    names(poolKeys, []string{"buckets"}),
	Args:    []string{"member", "cost", "peek", "reset", "revision", "signature", "inboxes"},
	Returns: names([]string{"found"}, ratelimitReturns),
	Latched: true,
}, func(r *Reply) RatelimitMemberOut {
	return RatelimitMemberOut{Found: r.Bool(), RatelimitAnswer: readRatelimit(r)}
})

// RatelimitMemberIn is one charge of a member's bucket; what RatelimitIn says of
// its fields holds here. With Reset it forgets the bucket instead.
type RatelimitMemberIn struct {
	PoolKeys
	Buckets     string // key
	Member      string
	Cost        int64
	Peek, Reset bool
	Revision    int64
	Signature   string
	Inboxes     string
}

func (in RatelimitMemberIn) keys(to []string) []string {
	return append(in.PoolKeys.keys(to), in.Buckets)
}

func (in RatelimitMemberIn) args(to []any) []any {
	return append(to, in.Member, in.Cost, flag(in.Peek), flag(in.Reset), in.Revision, in.Signature, in.Inboxes)
}

// RatelimitMemberOut is the answer, whose Denied may be pause. After a Reset,
// Allowed says whether there was anything to forget.
type RatelimitMemberOut struct {
	Found bool // there is such a member
	RatelimitAnswer
}
