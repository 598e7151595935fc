package coord

import (
	"context"
	"errors"
	"time"
)

// Hold is what a fake noun is given; TestRenewal is what it answers.
type (
	TestHold    = hold
	TestRenewal = renewal
)

func Renewed(sent time.Time) TestRenewal { return renewal{sent: sent, held: true} }
func Moved() TestRenewal                 { return renewal{moved: true} }
func Gone(reason string) TestRenewal     { return renewal{reason: reason} }
func Faulty(err error) TestRenewal       { return renewal{err: err} }

// FakeKind is a noun made of two functions.
type FakeKind struct {
	OnRenew    func(context.Context, []TestHold) []TestRenewal
	OnGiveBack func(context.Context, []TestHold) []error
}

func (k *FakeKind) RenewHeld(ctx context.Context, due []hold) []renewal   { return k.OnRenew(ctx, due) }
func (k *FakeKind) GiveBackHeld(ctx context.Context, gone []hold) []error { return k.OnGiveBack(ctx, gone) }

func fake(s *Session, k *FakeKind, name string, ttl time.Duration) *lease {
	return &lease{leaseID: leaseID{"fake", name, "token"}, fence: 7, ttl: ttl, session: s, kind: k}
}

// Bind makes the session hold a fake lease granted now.
func (l *Leases) Bind(s *Session, k *FakeKind, name string, ttl time.Duration) bool {
	return l.bind(fake(s, k, name, ttl), time.Now())
}

// Doubt makes the session remember a fake lease that may be held.
func (l *Leases) Doubt(s *Session, k *FakeKind, name string, ttl time.Duration) bool {
	return l.doubt(fake(s, k, name, ttl), errors.New("lost"))
}

// Forget is what a release does first; it reports whether there was a lease.
func (l *Leases) Forget(name string) bool {
	return l.forget(leaseID{"fake", name, "token"}) != nil
}

// Extend is what an explicit renewal does after its script.
func (l *Leases) Extend(name string, ttl time.Duration) {
	x, _ := l.claim(context.Background(), leaseID{"fake", name, "token"})
	l.extend(x, ttl, renewal{sent: time.Now()})
}

// Lookup returns what ends a lease as an explicit renewal that finds it gone does.
func (l *Leases) Lookup(name string) (lose func(reason string)) {
	x := l.find(leaseID{"fake", name, "token"})
	return func(reason string) { l.lose(x, reason) }
}

var Validity = validity

// Hasten makes every lease due for renewal now.
func (l *Leases) Hasten() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	for _, x := range l.bound {
		if !x.renewing && x.doubt == nil {
			l.due.move(x, now)
		}
	}
	l.arm(now)
}

const BeatFor = beatFor

// Acquire acquires a fake lease in a line of its own, by attempts that find
// nothing or end with these errors, and answers the error of the whole.
func (l *Leases) Acquire(ctx context.Context, n *Lines, k *FakeKind, attempts ...error) error {
	line := lineKeys("fake{fake}")
	a := &acquisition[int, int]{
		leases: l, lines: n, verb: "acquire", lease: fake(nil, k, "name", time.Minute), made: true, line: line, wait: time.Minute,
		refuse: func(attempt[int]) int { return 0 },
		waited: func(*int, int64) bool { return false },
	}
	a.ask = func(context.Context, place) (attempt[int], error) {
		err := attempts[0]
		if len(attempts) > 1 {
			attempts = attempts[1:]
		}
		return attempt[int]{look: look{first: true, free: time.Millisecond}}, err
	}
	_, err := Await(func(done func(int, error)) { acquire(ctx, a, done) })
	return err
}

func (h hold) GotName() string       { return h.name }
func (h hold) GotToken() string      { return h.token }
func (h hold) GotSession() string    { return h.session }
func (h hold) GotTTL() time.Duration { return h.ttl }
