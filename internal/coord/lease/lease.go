// Package lease is what all leases share, whatever their noun: acquiring with a wait in a
// line, binding to a session, renewing, and giving back.
//
// Its invariant: what a session holds is renewed by one renewer and given back by one path,
// exactly once; a lease that cannot be relied on any more is reported lost before another
// may have it.
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

// ID names a lease within this sidecar: a token holds a name only once, so
// that a token that moves to another session takes the lease along.
type ID struct{ Noun, Name, Token string }

// Lease is one thing held for a session: the one notion behind locks,
// semaphore permits, pool members, probes, messages in flight and token blocks.
// Its fields are guarded by Leases.mu once it is bound.
type Lease struct {
	ID
	Fence   int64
	TTL     time.Duration
	Session *coord.Session
	// Owner is the id of the session that Redis has for it where it is bound to its
	// TTL; what is given back for it then frees nothing that has moved.
	Owner string
	Kind  Kind
	// validUntil is when it can no longer be relied on, by this pod's monotonic
	// clock: ttl less 1 % and 2 ms, from when the granting call was sent.
	validUntil time.Time
	// Final: no renewal extends it any more. A grant that is final from the start is
	// good for granted, not for ttl.
	Final   bool
	Granted time.Duration
	// Ambiguous is the lost reply after which it is not known whether Redis holds it
	// at all; nil = it does. Such a lease is not renewed; closing the session gives
	// it back.
	ambiguous error
	// Fixed: it is never renewed, and lost when its TTL is over.
	Fixed bool

	next     time.Time     // when the renewer looks at it
	at       int           // its place in the renewer's heap
	renewing bool          // a renewal is under way
	rested   chan struct{} // closed when it has ended; nil when nobody waits for that
	failures int           // renewals that failed in a row
	soon     bool          // look again as soon as the renewal that is under way has ended
}

// Hold is what a lease's noun must know to renew it or give it back: a copy,
// since the lease may change or go while that is under way.
type Hold struct {
	ID
	Session string
	Fence   int64
	TTL     time.Duration
	Kind    Kind
	// Ambiguous is the failure that left it unknown whether there is anything to give
	// back. The command may still be on its way, and must not be overtaken.
	Ambiguous error
	// Waiter is the place in the line that is given up too; empty = none.
	Waiter string
}

// Hold is the copy of a lease that its noun is given.
func (x *Lease) Hold() Hold {
	return Hold{ID: x.ID, Session: x.Session.ID, Fence: x.Fence, TTL: x.TTL, Kind: x.Kind, Ambiguous: x.ambiguous}
}

// The reasons of a Loss, and of answers about a lease that is not held.
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
	wake    chan struct{} // tells the renewer of an earlier time to look
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

// Report makes it publish every loss from now on.
func (l *Leases) Report(e *coord.Events) { l.Events.Store(e) }

// Held counts what sessions hold now.
func (l *Leases) Held() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.bound) - l.ambiguous
}

// Drain makes further acquisitions, and those that wait, fail with Draining;
// releases and renewals go on.
func (l *Leases) Drain() { l.drain.Do(func() { close(l.drained) }) }

// Drained is closed by Drain.
func (l *Leases) Drained() <-chan struct{} { return l.drained }

// Admit refuses acquisitions of what would have to be given back at once.
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

// Bind makes a session hold a grant that was sent at that time, and reports
// whether it does: a session that closed meanwhile does not. A lease of the
// same token is replaced, whosever it was: the grant moved it.
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

// Ambiguous remembers something that Redis may hold for the session after a failure,
// so that closing it gives that back, for as long as its TTL can last. It reports
// whether the session was open.
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

// Find returns the lease of a token, nil if no session here holds it.
func (l *Leases) Find(id ID) *Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bound[id]
}

// TTLOf is the TTL of a lease that a session here holds, 0 if none does.
func (l *Leases) TTLOf(id ID) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if x := l.bound[id]; x != nil {
		return x.TTL
	}
	return 0
}

// Forget ends the renewal of a lease that is about to be released, and returns
// it: a renewal that is under way then neither revives nor reports it.
func (l *Leases) Forget(id ID) *Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := l.bound[id]
	if x != nil {
		l.drop(x)
	}
	return x
}

// Extend counts a renewal by its owner with that TTL, shorter or longer, for a
// lease that Claim returned.
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

// Hurry has all leases of a name renewed at once, since it was heard that they may
// be gone: the renewal finds out, and tells their sessions.
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

// Lose drops a lease that claim returned and tells its session, unless it was
// released, moved or granted anew meanwhile.
func (l *Leases) Lose(x *Lease, reason string) {
	l.mu.Lock()
	if x == nil || l.bound[x.ID] != x {
		l.mu.Unlock()
		return
	}
	l.drop(x)
	l.mu.Unlock()
	l.Tell(x, reason)
}

// Tell reports a lease that was dropped as lost. No lock is held: the callee
// writes to a connection.
func (l *Leases) Tell(x *Lease, reason string) {
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

// maxBatch bounds one pipeline, so that one answer never waits for thousands.
const maxBatch = 500

// GiveBackTime bounds how long giving back is tried: who closes a connection or
// cancels a call does not wait for the TTL, which frees the rest.
const GiveBackTime = 5 * time.Second

// GiveBack is the one path by which leases return: when a session closes, when
// the sidecar stops, when a grant comes too late. It tries again what fails
// until ctx ends, or Stop has returned.
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
			// The error is not news: what is left now is left to its TTL.
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

// failedOf keeps the holds whose error is not nil.
func failedOf(holds []Hold, errs []error) []Hold {
	var left []Hold
	for i, err := range errs {
		if err != nil {
			left = append(left, holds[i])
		}
	}
	return left
}

// The reasons of a lock that is not acquired or renewed, beside those of a Loss.
const (
	ReasonBusy     = "busy"
	ReasonReplicas = "replicas"
	ReasonReleased = "released"
	ReasonRenewed  = "renewed"
)
