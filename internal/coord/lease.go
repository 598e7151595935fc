package coord

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// leaseID is unique among what one session holds.
type leaseID struct{ noun, name, token string }

// lease is one thing held for a session: the one notion behind locks,
// semaphore permits, pool members, probes, messages in flight and token blocks.
type lease struct {
	leaseID
	fence int64
	ttl   time.Duration
	// validUntil is when it can no longer be relied on, by this pod's monotonic
	// clock: ttl less 1 % and 2 ms, from when the granting call was sent.
	validUntil time.Time
	session    *Session
	kind       leaseKind
}

// leaseKind is what a noun gives the renewer: how to renew many of its leases
// in one pipeline, and how to give many back.
type leaseKind interface {
	renew(ctx context.Context, due []*lease) []renewal
	giveBack(ctx context.Context, gone []*lease) []error
}

// renewal is what became of one lease.
type renewal struct {
	sent time.Time
	// held: it is valid for its TTL from sent.
	held bool
	// moved: it is held by another session of the same client; forget it in silence.
	moved bool
	// reason is why it is lost: not_owner or expired.
	reason string
	// err is a passing fault: try again while it is valid.
	err error
}

// Leases renews and gives back everything that sessions hold: one renewer and
// one give-back path for all nouns.
type Leases struct{}

// NewLeases starts the renewer; Stop ends it.
func NewLeases(t *telemetry.Telemetry) *Leases { panic("not yet") }

// Open starts a session. Lost is called, never blocking for long and never with
// a lock held, for each lease that is lost.
func (l *Leases) Open(id Identity, lost func(Loss)) *Session { panic("not yet") }

// Held counts what sessions hold now.
func (l *Leases) Held() int { panic("not yet") }

// Drain makes further acquisitions fail with Draining; releases and renewals go on.
func (l *Leases) Drain() {}

// Stop closes every session, giving back what they hold until ctx ends, and
// ends the renewer.
func (l *Leases) Stop(ctx context.Context) {}
