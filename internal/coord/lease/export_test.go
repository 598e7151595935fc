package lease

import (
	"context"
	"errors"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

func Renewed(sent time.Time) Renewal { return Renewal{Sent: sent, Held: true} }
func Moved() Renewal                 { return Renewal{Moved: true} }
func Gone(reason string) Renewal     { return Renewal{Reason: reason} }
func Faulty(err error) Renewal       { return Renewal{Err: err} }

// FakeKind is a noun made of two functions.
type FakeKind struct {
	OnRenew    func(context.Context, []Hold) []Renewal
	OnGiveBack func(context.Context, []Hold) []error
}

func (k *FakeKind) RenewHeld(ctx context.Context, due []Hold) []Renewal { return k.OnRenew(ctx, due) }

func (k *FakeKind) GiveBackHeld(ctx context.Context, gone []Hold) []error {
	return k.OnGiveBack(ctx, gone)
}

func fake(s *coord.Session, k *FakeKind, name string, ttl time.Duration) *Lease {
	return &Lease{ID: ID{"fake", name, "token"}, Fence: 7, TTL: ttl, Session: s, Kind: k}
}

// BindFake binds a fake lease, granted now, to the session.
func (l *Leases) BindFake(s *coord.Session, k *FakeKind, name string, ttl time.Duration) bool {
	return l.Bind(fake(s, k, name, ttl), time.Now())
}

// AmbiguousFake records, in the session, a fake lease that may be held.
func (l *Leases) AmbiguousFake(s *coord.Session, k *FakeKind, name string, ttl time.Duration) bool {
	return l.Ambiguous(fake(s, k, name, ttl), errors.New("lost"))
}

// ForgetFake does the first step of a release: it forgets the lease, and reports whether there was one.
func (l *Leases) ForgetFake(name string) bool {
	return l.Forget(ID{"fake", name, "token"}) != nil
}

// ExtendFake does what an explicit renewal does after its script.
func (l *Leases) ExtendFake(name string, ttl time.Duration) {
	x, _ := l.Claim(context.Background(), ID{"fake", name, "token"})
	l.Extend(x, ttl, Renewal{Sent: time.Now()})
}

// LookupFake returns the function by which an explicit renewal ends a lease that it finds lost.
func (l *Leases) LookupFake(name string) (lose func(reason string)) {
	x := l.Find(ID{"fake", name, "token"})
	return func(reason string) { l.Lose(x, reason) }
}

var Validity = validity

// Hasten makes every lease due for renewal now.
func (l *Leases) Hasten() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	for _, x := range l.bound {
		if !x.renewing && x.ambiguous == nil {
			l.due.move(x, now)
		}
	}
	l.arm(now)
}

const HeartbeatFor = heartbeatFor

// AcquireFake acquires a fake lease in a line of its own, by attempts that are refused or end with these errors, and
// returns the error of the call.
func (l *Leases) AcquireFake(ctx context.Context, n *Lines, k *FakeKind, attempts ...error) error {
	a := &Acquisition[int, int]{
		Leases: l, Lines: n, Verb: "acquire", Lease: fake(nil, k, "name", time.Minute), Made: true, Line: LineKeysOf("fake{fake}"),
		Wait: time.Minute, Terms: &fakeTerms{attempts: attempts},
	}
	_, err := coord.Await(func(done func(int, error)) { Acquire(ctx, a, done) })
	return err
}

// fakeTerms are the terms of a noun without a script: each attempt returns the next error, and after the last one
// that one again.
type fakeTerms struct {
	Uncounted[int]
	attempts []error
}

func (f *fakeTerms) Ask(Place, *lua.Asked) {}

func (f *fakeTerms) Read(context.Context, *lua.Asked) (Attempt[int], bool, error) {
	err := f.attempts[0]
	if len(f.attempts) > 1 {
		f.attempts = f.attempts[1:]
	}
	return Attempt[int]{Look: Look{First: true, Free: time.Millisecond}}, false, err
}

func (f *fakeTerms) Take(*Lease, int)                          {}
func (f *fakeTerms) Granted(context.Context, Attempt[int]) int { return 0 }
func (f *fakeTerms) Refused(Attempt[int]) int                  { return 0 }
func (f *fakeTerms) Replayed(context.Context, int) (int, error) {
	return 0, errors.New("nothing is stored")
}
func (f *fakeTerms) Waited(*int, int64) bool { return false }
