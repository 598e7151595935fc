package pool

import (
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// PermitAcquireScript leases the least recently used member that is free, whose
// breaker allows a call and whose bucket has the cost. It decides and takes all in
// one run. Repeated with the same token it returns the same member, as long as
// the lease is held.
var PermitAcquireScript = lua.Define[PermitAcquireIn, PermitAcquireOut](files, lua.Source{
	Name:        "permit_acquire",
	Idempotent:  true,
	StoresReply: true,
})

// PermitAcquireIn is one attempt to acquire a permit.
type PermitAcquireIn struct {
	AcquireIn
	Buckets string `lua:"key"` // of the members under the rule
	Cost    int64
	// Revision and Signature are of the rule (token_bucket), as in ratelimit; an
	// empty Signature asks for no bucket.
	Revision  int64
	Signature string
	// Overrides lists the members that have bands of their own, each followed by its
	// signature.
	Overrides []string
	// Policy is that of the breakers as text (see lib/breaker.lua); an empty one
	// does not ask them.
	Policy string
}

// PermitAcquireOut is a member that may be used now, or the reason why there is none.
type PermitAcquireOut struct {
	AcquireOut
	// Generation is that of the member's breaker; 0 when breakers are not used.
	Generation int64
	// Probe: its breaker is half open, and this is a probe.
	Probe     bool
	Remaining int64 // of its bucket, rounded down
}

// PermitReportScript gives a permit's member back and applies the outcome of its use to the member's breaker,
// cooldown and pause.
var PermitReportScript = lua.Define[PermitReportIn, PermitReportOut](files, lua.Source{
	Name:       "permit_report",
	Idempotent: true,
})

// PermitReportIn is a permit, and the outcome of its use.
type PermitReportIn struct {
	ReleaseIn
	// Heard is the outcome for the breaker: success, failure or ignored. Its policy is
	// the one under which the permit was acquired.
	Heard      string
	DurationUS int64
	// PauseUS is for how long from now on no permits of the member are given out; 0 = no
	// pause.
	PauseUS int64
	// Jitter is the random factor of the opening time, in thousandths, if the breaker opens.
	Jitter int64
	// Channel is where a change of the breaker's state is broadcast.
	Channel string
}

// PermitReportOut is the state in which the script found the permit, and the states of the member and its breaker
// after it.
type PermitReportOut struct {
	ReleaseOut
	// Was and Breaker are the breaker's states before and after; empty when the permit was acquired
	// without a breaker, or nothing was counted.
	Was, Breaker string
}

// RatelimitMemberScript charges, reads or resets the bucket of a pool's member without leasing the
// member.
var RatelimitMemberScript = lua.Define[RatelimitMemberIn, RatelimitMemberOut](files, lua.Source{
	Name:        "ratelimit_member",
	StoresReply: true,
})

// RatelimitMemberIn is one charge of a member's bucket, with fields as in ratelimit.Charge. With Reset the script
// deletes the bucket instead.
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

// RatelimitMemberOut is the answer, with fields as in coord.LimitAnswer. After a Reset, Allowed is
// whether there was a bucket to delete.
type RatelimitMemberOut struct {
	Found bool // there is such a member
	coord.LimitAnswer
}
