// Package lease is what the leases of all nouns share: acquiring, also by waiting in line, binding
// to a session, renewing, and giving back.
//
// Its invariant: what a session holds is renewed by one renewer and given back by one path,
// exactly once; a lease that cannot be relied on any more is reported lost before another
// owner may have it.
package lease

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// ID identifies a lease within this sidecar. A token holds a name only once: when another session
// acquires with the same token, the lease moves to it.
type ID struct{ Noun, Name, Token string }

// Lease is one thing that a session holds: a lock, semaphore permits, a pool member,
// a probe, a delivered message or a block of tokens.
// Its fields are guarded by Leases.mu once it is bound.
type Lease struct {
	ID
	Fence   int64
	TTL     time.Duration
	Session *coord.Session
	// Owner is the session id that Redis stores for a lease that is bound to its TTL. When this sidecar gives the lease
	// back, the script compares it and frees nothing if the lease has moved to another session.
	Owner string
	Kind  Kind
	// validUntil is when the lease can no longer be relied on, by this pod's monotonic
	// clock: the TTL less 1 % and 2 ms, from when the granting call was sent.
	validUntil time.Time
	// Final: no renewal extends the lease any more. A grant that is final from the start is
	// valid for Granted, not for TTL.
	Final   bool
	Granted time.Duration
	// ambiguous is the error of an acquisition whose reply was lost: Redis may or may not hold
	// the lease. Nil = it does. An ambiguous lease is not renewed; closing the session gives
	// it back.
	ambiguous error
	// Fixed: the lease is never renewed, and lost when its TTL is over.
	Fixed bool

	next     time.Time     // when the renewer looks at the lease
	at       int           // its index in the renewer's heap
	renewing bool          // a renewal is under way
	rested   chan struct{} // closed when that renewal has ended; nil when nothing waits for it
	failures int           // renewals that failed in a row
	soon     bool          // renew again as soon as the renewal that is under way has ended
}

// Hold is what a noun needs to renew a lease or give it back. It is a copy,
// since the lease may change or be dropped meanwhile.
type Hold struct {
	ID
	Session string
	Fence   int64
	TTL     time.Duration
	Kind    Kind
	// Ambiguous is the error that leaves it open whether there is anything to give back. The
	// command that failed may still be on its way to Redis and must arrive before the give-back.
	Ambiguous error
	// Waiter is the ticket in the waiting line that is given up too; empty = none.
	Waiter string
}

// Hold returns the copy of a lease that is passed to its noun.
func (x *Lease) Hold() Hold {
	return Hold{ID: x.ID, Session: x.Session.ID, Fence: x.Fence, TTL: x.TTL, Kind: x.Kind, Ambiguous: x.ambiguous}
}

// The reasons of a Loss, and of results about a lease that is not held.
const (
	ReasonNotOwner    = "not_owner"
	ReasonExpired     = "expired"
	ReasonUnreachable = "unreachable"
	ReasonMaxHold     = "max_hold"
)

// Leases renews and gives back everything that sessions hold: one renewer and
// one give-back path for all nouns.
type Leases struct {
	Tel     *telemetry.Telemetry
	drain   sync.Once
	drained chan struct{} // closed by Drain
	wake    chan struct{} // wakes the renewer when a lease is due earlier than it expects
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup // the renewer and the renewals under way
	Events  atomic.Pointer[coord.Events]

	mu        sync.Mutex // guards what follows, every bound lease, and what sessions hold
	bound     map[ID]*Lease
	due       leaseHeap
	armed     time.Time // when the renewer looks next; zero = when woken
	sessions  map[*coord.Session]*holdings
	ambiguous int
	stopped   bool
}

// NewLeases starts the renewer; Stop ends it.
func NewLeases(t *telemetry.Telemetry) *Leases {
	l := &Leases{
		Tel: t, drained: make(chan struct{}), wake: make(chan struct{}, 1),
		bound: make(map[ID]*Lease), sessions: make(map[*coord.Session]*holdings),
	}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.running.Go(l.run)
	return l
}

// Report sets where every loss is published from now on.
func (l *Leases) Report(e *coord.Events) { l.Events.Store(e) }

// Held returns the number of leases that sessions hold now.
func (l *Leases) Held() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.bound) - l.ambiguous
}

// Drain makes new acquisitions, and those in waiting lines, fail with Draining;
// releases and renewals go on.
func (l *Leases) Drain() { l.drain.Do(func() { close(l.drained) }) }

// Drained returns a channel that Drain closes.
func (l *Leases) Drained() <-chan struct{} { return l.drained }

// Admit returns an error while the sidecar drains: what it acquired now, it would have to give back at once.
func (l *Leases) Admit(op string) error {
	if l.draining() {
		return &coord.Error{Code: api.Draining, Op: op, Err: coord.ErrDraining}
	}
	return nil
}

func (l *Leases) draining() bool {
	select {
	case <-l.drained:
		return true
	default:
		return false
	}
}

// Bind makes a session hold a grant whose call was sent at that time. It returns false if the session
// has closed meanwhile. A lease of the same token is replaced, in whichever session it was: the grant
// has moved it.
func (l *Leases) Bind(x *Lease, sent time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opened(x.Session) == nil {
		return false
	}
	if old, ok := l.bound[x.ID]; ok {
		l.drop(old)
	}
	x.validUntil = validity(sent, x.TTL)
	if x.Final {
		x.validUntil = validity(sent, x.Granted)
	}
	x.next = earlier(renewAt(sent, x.TTL), x.lossAt())
	if x.Fixed {
		x.next = x.lossAt()
	}
	l.add(x)
	return true
}

// Ambiguous makes the session keep a lease that Redis may hold although acquiring or releasing it failed.
// Closing the session within the TTL gives the lease back. Ambiguous reports whether the session
// was open.
func (l *Leases) Ambiguous(x *Lease, why error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opened(x.Session) == nil {
		return false
	}
	if _, ok := l.bound[x.ID]; !ok {
		x.ambiguous = why
		x.next = time.Now().Add(x.TTL)
		l.add(x)
	}
	return true
}

// Find returns the lease of a token, nil if no session of this sidecar holds it.
func (l *Leases) Find(id ID) *Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bound[id]
}

// TTLOf returns the TTL of a lease that a session of this sidecar holds, 0 if none does.
func (l *Leases) TTLOf(id ID) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if x := l.bound[id]; x != nil {
		return x.TTL
	}
	return 0
}

// Forget drops a lease that is about to be released, and returns it. A renewal that is
// under way then neither revives the lease nor reports it lost.
func (l *Leases) Forget(id ID) *Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := l.bound[id]
	if x != nil {
		l.drop(x)
	}
	return x
}

// Extend applies the owner's renewal to a lease that Claim returned. Its new TTL may be shorter or longer.
func (l *Leases) Extend(x *Lease, ttl time.Duration, r Renewal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.claimed(x) {
		return
	}
	x.rest()
	x.TTL, x.validUntil = ttl, time.Time{}
	l.renewed(x, ttl, r)
}

// Hurry renews all leases of a name at once, after a message that they may
// be gone. The renewals find out, and report losses to the sessions.
func (l *Leases) Hurry(noun, name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	for id, x := range l.bound {
		switch {
		case id.Noun != noun || id.Name != name || x.ambiguous != nil:
		case x.renewing:
			x.soon = true
		default:
			l.due.move(x, now)
			l.arm(now)
		}
	}
}

// Lose drops a lease that Claim returned and reports the loss to its session, unless the lease was
// released, moved or granted anew meanwhile.
func (l *Leases) Lose(x *Lease, reason string) {
	l.mu.Lock()
	if x == nil || l.bound[x.ID] != x {
		l.mu.Unlock()
		return
	}
	l.drop(x)
	l.mu.Unlock()
	l.ReportLost(x, reason)
}

// ReportLost reports a lease that was dropped as lost: to its session, as a metric and as an event. l.mu must not be
// held, since Session.Lose writes to a connection.
func (l *Leases) ReportLost(x *Lease, reason string) {
	if x.ambiguous != nil {
		return
	}
	l.Tel.LeaseLost(context.Background(), x.Noun, reason)
	x.Session.Lose(coord.Loss{Noun: x.Noun, Name: x.Name, Token: x.Token, Fence: x.Fence, Reason: reason})
	if e := l.Events.Load(); e.Wanted() {
		id := x.Session.Identity()
		e.Publish(coord.Event{
			Kind: coord.EventLost, Noun: x.Noun, Name: x.Name, Reason: reason,
			Detail: fmt.Sprintf("session %s of client %q, instance %q", x.Session.ID, id.Client, id.Instance),
		})
	}
}

// add needs l.mu.
func (l *Leases) add(x *Lease) {
	l.bound[x.ID] = x
	l.sessions[x.Session].leases[x] = struct{}{}
	l.due.push(x)
	if x.ambiguous != nil {
		l.ambiguous++
	} else {
		l.Tel.LeaseHeld(context.Background(), x.Noun, 1)
	}
	l.arm(x.next)
}

// drop needs l.mu.
func (l *Leases) drop(x *Lease) {
	delete(l.bound, x.ID)
	delete(l.sessions[x.Session].leases, x)
	l.due.remove(x)
	x.rest()
	if x.ambiguous != nil {
		l.ambiguous--
	} else {
		l.Tel.LeaseHeld(context.Background(), x.Noun, -1)
	}
}

// maxBatch bounds one pipeline, so that no reply waits for thousands of others.
const maxBatch = 500

// GiveBackTime bounds how long giving back is tried, so that closing a connection or cancelling a call does
// not take longer. What is not given back by then ends at its TTL.
const GiveBackTime = 5 * time.Second

// GiveBack is the one path on which leases are given back: when a session closes, when the
// sidecar stops, when a grant comes too late. It tries failures again until GiveBackTime is over,
// ctx ends, or Stop has returned.
func (l *Leases) GiveBack(ctx context.Context, gone []Hold) {
	ctx, cancel := context.WithTimeout(ctx, GiveBackTime)
	defer cancel()
	defer context.AfterFunc(l.ctx, cancel)()
	byKind := make(map[Kind][]Hold)
	for _, h := range gone {
		redis.Settle(ctx, h.Ambiguous)
		byKind[h.Kind] = append(byKind[h.Kind], h)
	}
	for kind, holds := range byKind {
		for batch := range slices.Chunk(holds, maxBatch) {
			again := backoff.NewExponentialBackOff(backoff.WithInitialInterval(20*time.Millisecond), backoff.WithMaxInterval(time.Second))
			// The error is not needed: leases that could not be given back end at their TTL.
			_ = backoff.Retry(func() error {
				batch = failedOf(batch, kind.GiveBackHeld(ctx, batch))
				if len(batch) > 0 {
					return errors.New("some are left")
				}
				return nil
			}, backoff.WithContext(again, ctx))
		}
	}
}

// failedOf returns the holds whose error is not nil.
func failedOf(holds []Hold, errs []error) []Hold {
	var left []Hold
	for i, err := range errs {
		if err != nil {
			left = append(left, holds[i])
		}
	}
	return left
}

// The reasons in results of acquiring, renewing and releasing, beside those of a Loss.
const (
	ReasonBusy     = "busy"
	ReasonReplicas = "replicas"
	ReasonReleased = "released"
	ReasonRenewed  = "renewed"
)
