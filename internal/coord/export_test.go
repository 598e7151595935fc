package coord

import (
	"context"
	"errors"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// What black-box tests need of the inside: how keys and limits come out, and a
// noun of their own for the renewer.

func (k Keys) Limit(rule, key, part string) string { return k.limit(rule, key, part) }

// InFull is the state of a limit given in full.
func (k Keys) InFull(key, algorithm string, bands ...api.Band) string {
	return k.limit("", key, compile(api.Rule{Algorithm: algorithm, Limits: bands}, 0).part)
}
func (k Keys) Lock(name string) string             { return k.lock(name) }
func (k Keys) Line(lock string) string             { return k.line(k.lock(lock)).Line }
func (k Keys) Queue(queue string) lua.QueueKeys    { return k.queueKeys(queue) }
func (k Keys) QueueLine(queue string) lua.LineKeys { return k.queueLine(queue) }
func Latch(key string, c Caller) lua.Latch         { return latch(key, c) }
func Escaped(text string) string                   { return escaped(text) }

// Compiled is a limit as the scripts get it.
type Compiled struct {
	Signature string
	Bands     []lua.RatelimitBand
	Names     []string
	Revision  int64
}

func Compile(bands ...api.Band) Compiled { return CompileBy("token_bucket", bands...) }

func CompileBy(algorithm string, bands ...api.Band) Compiled {
	l := compile(api.Rule{Algorithm: algorithm, Limits: bands}, 0)
	return Compiled{l.signature, l.bands, l.names, l.revision}
}

// Matched is what a rule is for a key.
type Matched struct {
	Counted, List, Signature string
	MaxConcurrent            int64
}

// Match finds it for a rule in force.
func (r *Rules) Match(name, key, group string) Matched {
	x, err := r.find(name)
	if err != nil {
		panic(err)
	}
	t := x.of(key, group)
	return Matched{t.counted, t.list, t.lim.signature, t.lim.maxConcurrent}
}

// First is the first of the sets that has the key, -1 = none.
func First(key string, sets ...api.Match) int {
	m := newMatcher(sets)
	return m.first(key)
}

// Taken is what a grant says.
type Taken struct {
	ID, Tag, Part string
	Cost, At      int64
}

// GrantOf reads a grant.
func GrantOf(text string) (Taken, error) {
	g, _, err := parseGrant(text)
	return Taken{g.id, g.tag, g.part, g.cost, g.at}, err
}

// Inline finds a limit given in full and reports how many are remembered.
type Inline struct{ l inlineLimits }

func NewInline() *Inline { return &Inline{inlineLimits{known: make(map[inlineKey]*limit)}} }
func (i *Inline) Find(algorithm string, bands []api.Band) error {
	_, err := i.l.find(algorithm, bands)
	return err
}
func (i *Inline) Known() int { return len(i.l.known) }

const MaxInline = maxInline

// Hold is what a fake noun is given; Renewal is what it answers.
type (
	Hold    = hold
	Renewal = renewal
)

func (h hold) Name() string       { return h.name }
func (h hold) Token() string      { return h.token }
func (h hold) Session() string    { return h.session }
func (h hold) TTL() time.Duration { return h.ttl }

func Renewed(sent time.Time) Renewal { return renewal{sent: sent, held: true} }
func Moved() Renewal                 { return renewal{moved: true} }
func Gone(reason string) Renewal     { return renewal{reason: reason} }
func Faulty(err error) Renewal       { return renewal{err: err} }

// Kind is a noun made of two functions.
type Kind struct {
	OnRenew    func(context.Context, []Hold) []Renewal
	OnGiveBack func(context.Context, []Hold) []error
}

func (k *Kind) renew(ctx context.Context, due []hold) []renewal   { return k.OnRenew(ctx, due) }
func (k *Kind) giveBack(ctx context.Context, gone []hold) []error { return k.OnGiveBack(ctx, gone) }

func fake(s *Session, k *Kind, name string, ttl time.Duration) *lease {
	return &lease{leaseID: leaseID{"fake", name, "token"}, fence: 7, ttl: ttl, session: s, kind: k}
}

// Bind makes the session hold a fake lease granted now.
func (l *Leases) Bind(s *Session, k *Kind, name string, ttl time.Duration) bool {
	return l.bind(fake(s, k, name, ttl), time.Now())
}

// Doubt makes the session remember a fake lease that may be held.
func (l *Leases) Doubt(s *Session, k *Kind, name string, ttl time.Duration) bool {
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

const GiveBackTime = giveBackTime

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

var Failed = failed

// Sidecar is what this sidecar's waiters begin with.
func (s *Signals) Sidecar() string { return s.sidecar }

const BeatFor = beatFor

// Acquire acquires a fake lease in a line of its own, by attempts that find
// nothing or end with these errors, and answers the error of the whole.
func (l *Leases) Acquire(ctx context.Context, n *Lines, k *Kind, attempts ...error) error {
	line := n.signals.keys.queueLine("fake")
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

var Capped = capped

// Sleeping counts the calls that wait for a slot.
func (l *RateLimiter) Sleeping() int {
	l.reservations.mu.Lock()
	defer l.reservations.mu.Unlock()
	n := 0
	for _, line := range l.reservations.waiting {
		n += len(line)
	}
	return n
}

// Reserved counts the calls that wait or may, and the requests known by id.
func (l *RateLimiter) Reserved() (calls, requests int) {
	l.reservations.mu.Lock()
	defer l.reservations.mu.Unlock()
	return l.reservations.n, len(l.reservations.requests)
}

// Callers counts the calls behind the requests known by id.
func (l *RateLimiter) Callers() int {
	l.reservations.mu.Lock()
	defer l.reservations.mu.Unlock()
	n := 0
	for _, x := range l.reservations.requests {
		n += x.callers
	}
	return n
}

const MaxRecent = maxRecent

// Remembered counts the refusals and the local limits that are kept.
func (l *RateLimiter) Remembered() (denials, local int) {
	return l.answers.count(), l.local.count()
}

func (r *recent[K, V]) count() int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return len(r.items)
}

// SetClock makes time what a test says. Use it before anyone subscribes.
func (e *Events) SetClock(now func() time.Time) { e.clock = now }

// Bursts counts what is remembered of sampled events.
func (e *Events) Bursts() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.bursts)
}

// MaxBursts bounds that.
const MaxBursts = maxBursts

func (k Keys) Rules() string { return k.rules() }

// TextOf and ReadRule are how rules are kept in Redis.
func TextOf(o api.Rule) (string, error)            { return textOf(o) }
func ReadRule(name, text string) (api.Rule, error) { return readRule(name, text) }
