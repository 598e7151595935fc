package coord

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"

	"github.com/cenkalti/backoff/v4"

	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// leaseID names a lease within this sidecar: a token holds a name only once, so
// that a token that moves to another session takes the lease along.
type leaseID struct{ noun, name, token string }

// lease is one thing held for a session: the one notion behind locks,
// semaphore permits, pool members, probes, messages in flight and token blocks.
// Its fields are guarded by Leases.mu once it is bound.
type lease struct {
	leaseID
	fence   int64
	ttl     time.Duration
	session *Session
	// owner is the id of the session that Redis has for it where it is bound to its
	// TTL; what is given back for it then frees nothing that has moved.
	owner string
	kind  leaseKind
	// validUntil is when it can no longer be relied on, by this pod's monotonic
	// clock: ttl less 1 % and 2 ms, from when the granting call was sent.
	validUntil time.Time
	// final: no renewal extends it any more. A grant that is final from the start is
	// good for granted, not for ttl.
	final   bool
	granted time.Duration
	// doubt is the lost reply after which it is not known whether Redis holds it
	// at all; nil = it does. Such a lease is not renewed; closing the session gives
	// it back.
	doubt error
	// fixed: it is never renewed, and lost when its TTL is over.
	fixed bool

	next     time.Time     // when the renewer looks at it
	at       int           // its place in the renewer's heap
	renewing bool          // a renewal is under way
	rested   chan struct{} // closed when it has ended; nil when nobody waits for that
	failures int           // renewals that failed in a row
	soon     bool          // look again as soon as the renewal that is under way has ended
}

// hold is what a lease's noun must know to renew it or give it back: a copy,
// since the lease may change or go while that is under way.
type hold struct {
	leaseID
	session string
	fence   int64
	ttl     time.Duration
	kind    leaseKind
	// doubt is the failure that left it unknown whether there is anything to give
	// back. The command may still be on its way, and must not be overtaken.
	doubt error
	// waiter is the place in the line that is given up too; empty = none.
	waiter string
}

func (x *lease) hold() hold {
	return hold{leaseID: x.leaseID, session: x.session.ID, fence: x.fence, ttl: x.ttl, kind: x.kind, doubt: x.doubt}
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
	tel      *telemetry.Telemetry
	draining sync.Once
	drained  chan struct{} // closed by Drain
	wake     chan struct{} // tells the renewer of an earlier time to look
	ctx      context.Context
	cancel   context.CancelFunc
	running  sync.WaitGroup // the renewer and the renewals under way
	events   atomic.Pointer[Events]

	mu       sync.Mutex // guards what follows, every bound lease, and what sessions hold
	bound    map[leaseID]*lease
	due      leaseHeap
	armed    time.Time // when the renewer looks next; zero = when woken
	sessions map[*Session]*holdings
	doubtful int
	stopped  bool
}

// NewLeases starts the renewer; Stop ends it.
func NewLeases(t *telemetry.Telemetry) *Leases {
	l := &Leases{
		tel: t, drained: make(chan struct{}), wake: make(chan struct{}, 1),
		bound: make(map[leaseID]*lease), sessions: make(map[*Session]*holdings),
	}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.running.Go(l.run)
	return l
}

// Report makes it publish every loss from now on.
func (l *Leases) Report(e *Events) { l.events.Store(e) }

// Held counts what sessions hold now.
func (l *Leases) Held() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.bound) - l.doubtful
}

// Drain makes further acquisitions, and those that wait, fail with Draining;
// releases and renewals go on.
func (l *Leases) Drain() { l.draining.Do(func() { close(l.drained) }) }

// admit refuses acquisitions of what would have to be given back at once.
func (l *Leases) admit(op string) error {
	select {
	case <-l.drained:
		return &Error{Code: api.Draining, Op: op, Err: errDraining}
	default:
		return nil
	}
}

// bind makes a session hold a grant that was sent at that time, and reports
// whether it does: a session that closed meanwhile does not. A lease of the
// same token is replaced, whosever it was: the grant moved it.
func (l *Leases) bind(x *lease, sent time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opened(x.session) == nil {
		return false
	}
	if old, ok := l.bound[x.leaseID]; ok {
		l.drop(old)
	}
	x.validUntil = validity(sent, x.ttl)
	if x.final {
		x.validUntil = validity(sent, x.granted)
	}
	x.next = earlier(renewAt(sent, x.ttl), x.lossAt())
	if x.fixed {
		x.next = x.lossAt()
	}
	l.add(x)
	return true
}

// doubt remembers something that Redis may hold for the session after a failure,
// so that closing it gives that back, for as long as its TTL can last. It reports
// whether the session was open.
func (l *Leases) doubt(x *lease, why error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opened(x.session) == nil {
		return false
	}
	if _, ok := l.bound[x.leaseID]; !ok {
		x.doubt = why
		x.next = time.Now().Add(x.ttl)
		l.add(x)
	}
	return true
}

// find returns the lease of a token, nil if no session here holds it.
func (l *Leases) find(id leaseID) *lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bound[id]
}

// forget ends the renewal of a lease that is about to be released, and returns
// it: a renewal that is under way then neither revives nor reports it.
func (l *Leases) forget(id leaseID) *lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := l.bound[id]
	if x != nil {
		l.drop(x)
	}
	return x
}

// extend counts a renewal by its owner with that TTL, shorter or longer, for a
// lease that claim returned.
func (l *Leases) extend(x *lease, ttl time.Duration, r renewal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.claimed(x) {
		return
	}
	x.rest()
	x.ttl, x.validUntil = ttl, time.Time{}
	l.renewed(x, ttl, r)
}

// hurry has all leases of a name renewed at once, since it was heard that they may
// be gone: the renewal finds out, and tells their sessions.
func (l *Leases) hurry(noun, name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	for id, x := range l.bound {
		switch {
		case id.noun != noun || id.name != name || x.doubt != nil:
		case x.renewing:
			x.soon = true
		default:
			l.due.move(x, now)
			l.arm(now)
		}
	}
}

// lose drops a lease that claim returned and tells its session, unless it was
// released, moved or granted anew meanwhile.
func (l *Leases) lose(x *lease, reason string) {
	l.mu.Lock()
	if x == nil || l.bound[x.leaseID] != x {
		l.mu.Unlock()
		return
	}
	l.drop(x)
	l.mu.Unlock()
	l.tell(x, reason)
}

// tell reports a lease that was dropped as lost. No lock is held: the callee
// writes to a connection.
func (l *Leases) tell(x *lease, reason string) {
	if x.doubt != nil {
		return
	}
	l.tel.LeaseLost(context.Background(), x.noun, reason)
	x.session.lose(Loss{Noun: x.noun, Name: x.name, Token: x.token, Fence: x.fence, Reason: reason})
	if e := l.events.Load(); e.Wanted() {
		id := x.session.Identity()
		e.Publish(Event{
			Kind: EventLost, Noun: x.noun, Name: x.name, Reason: reason,
			Detail: fmt.Sprintf("session %s of client %q, instance %q", x.session.ID, id.Client, id.Instance),
		})
	}
}

// add needs l.mu.
func (l *Leases) add(x *lease) {
	l.bound[x.leaseID] = x
	l.sessions[x.session].leases[x] = struct{}{}
	l.due.push(x)
	if x.doubt != nil {
		l.doubtful++
	} else {
		l.tel.LeaseHeld(context.Background(), x.noun, 1)
	}
	l.arm(x.next)
}

// drop needs l.mu.
func (l *Leases) drop(x *lease) {
	delete(l.bound, x.leaseID)
	delete(l.sessions[x.session].leases, x)
	l.due.remove(x)
	x.rest()
	if x.doubt != nil {
		l.doubtful--
	} else {
		l.tel.LeaseHeld(context.Background(), x.noun, -1)
	}
}

// maxBatch bounds one pipeline, so that one answer never waits for thousands.
const maxBatch = 500

// GiveBackTime bounds how long giving back is tried: who closes a connection or
// cancels a call does not wait for the TTL, which frees the rest.
const GiveBackTime = 5 * time.Second

// giveBack is the one path by which leases return: when a session closes, when
// the sidecar stops, when a grant comes too late. It tries again what fails
// until ctx ends, or Stop has returned.
func (l *Leases) giveBack(ctx context.Context, gone []hold) {
	ctx, cancel := context.WithTimeout(ctx, GiveBackTime)
	defer cancel()
	defer context.AfterFunc(l.ctx, cancel)()
	byKind := make(map[leaseKind][]hold)
	for _, h := range gone {
		redis.Settle(ctx, h.doubt)
		byKind[h.kind] = append(byKind[h.kind], h)
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
func failedOf(holds []hold, errs []error) []hold {
	var left []hold
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
