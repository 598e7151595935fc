package pool

import (
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// PermitAcquireScript leases the least recently used member that may be had, whose
// breaker lets it pass and whose bucket has the cost: all is decided and taken in
// the one run. Repeated with the same token it answers the same member, as long as
// the lease lives.
var PermitAcquireScript = lua.Define[PermitAcquireIn, PermitAcquireOut](files, lua.Source{
	Name:        "permit_acquire",
	Idempotent:  true,
	StoresReply: true,
})

// PermitAcquireIn is one try to get a permit.
type PermitAcquireIn struct {
	AcquireIn
	Buckets string `lua:"key"` // of the members under the rule
	Cost    int64
	// Revision and Signature are of the rule (token_bucket), as in ratelimit; an
	// empty Signature asks for no bucket.
	Revision  int64
	Signature string
	// Overrides has those members that have bands of their own, each with its
	// signature after it.
	Overrides []string
	// Policy is that of the breakers as text (see lib/breaker.lua); an empty one
	// does not ask them.
	Policy string
}

// PermitAcquireOut is a member that may be used now, or why there is none.
type PermitAcquireOut struct {
	AcquireOut
	// Generation is that of its breaker; 0 when that was not asked.
	Generation int64
	// Probe: its breaker is half open, and this is a probe.
	Probe     bool
	Remaining int64 // of its bucket, rounded down
}

// PermitReportScript gives a permit's member back and tells its breaker, its cooldown and
// its pause how the work went.
var PermitReportScript = lua.Define[PermitReportIn, PermitReportOut](files, lua.Source{
	Name:       "permit_report",
	Idempotent: true,
})

// PermitReportIn is a permit, and how the work went.
type PermitReportIn struct {
	ReleaseIn
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

// PermitReportOut says what was found, and what the member and its breaker are since.
type PermitReportOut struct {
	ReleaseOut
	// Was and Breaker are the breaker's states before and after; empty when it was
	// not asked for the permit, or nothing was counted.
	Was, Breaker string
}

// RatelimitMemberScript charges the bucket of a pool's member without leasing it, looks
// at it, or resets it.
var RatelimitMemberScript = lua.Define[RatelimitMemberIn, RatelimitMemberOut](files, lua.Source{
	Name:        "ratelimit_member",
	StoresReply: true,
})

// RatelimitMemberIn is one charge of a member's bucket; what ratelimit.Charge says of
// its fields holds here. With Reset it forgets the bucket instead.
type RatelimitMemberIn struct {
	Pool        Keys   `lua:"table"`
	Buckets     string `lua:"key"`
	Member      string
	Cost        int64
	Peek, Reset bool
	Revision    int64
	Signature   string
	Inboxes     string
}

// RatelimitMemberOut is the answer: what coord.LimitAnswer says of its fields holds here.
// After a Reset, Allowed says whether there was anything to forget.
type RatelimitMemberOut struct {
	Found bool // there is such a member
	coord.LimitAnswer
}
