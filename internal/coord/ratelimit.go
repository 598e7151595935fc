package coord

import (
	"cmp"
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// LimitRef names a limit: by rule, or in full.
type LimitRef struct {
	Rule      string
	Algorithm string
	Limits    []Band
	Key       string
	Group     string // counts in place of Key; empty = the rule's group of it, if any
}

// LimitRequest asks for a decision.
type LimitRequest struct {
	LimitRef
	Cost int64 // 0 only looks
	// Wait is how long the call may wait for a slot that is promised to it, at
	// most 60 s; the call's deadline, less a moment for the answer, bounds it too.
	Wait     time.Duration
	FailMode FailMode // empty = the rule's; open for a limit given in full
}

// RateLimiterOptions are what the noun is made of.
type RateLimiterOptions struct {
	Runner    *lua.Runner
	Keys      Keys
	Rules     *Rules
	Leases    *Leases // with Lines, for rules with max_concurrent; nil where there are none
	Lines     *Lines
	Signals   *Signals // nil: what happens in other sidecars is seen within a second
	Answers   *Answers // nil = its own
	Events    *Events  // may be nil
	Telemetry *telemetry.Telemetry
	Clock     Clock // nil = the pod's
}

// RateLimiter decides whether a call may go now, or when.
//
// It goes on while the sidecar drains, but for rules with max_concurrent: a
// decision holds nothing that would have to be given back, and a pod that
// finishes its last requests must still keep to the limits it shares.
type RateLimiter struct {
	runner       *lua.Runner
	keys         Keys
	rules        *Rules
	leases       *Leases
	lines        *Lines
	seats        seats
	seals        *seals
	inline       inlineLimits
	tel          *telemetry.Telemetry
	events       *Events
	clock        Clock
	made         time.Time
	reservations *reservations
	answers      *Answers
	local        *recent[localKey, drain]
	grantIDs     grantIDs
	stats        stats
}

// nounRatelimit is the noun of events.
const nounRatelimit = "ratelimit"

// NewRateLimiter makes the noun.
func NewRateLimiter(o RateLimiterOptions) *RateLimiter {
	if o.Clock == nil {
		o.Clock = systemClock{}
	}
	if o.Answers == nil {
		o.Answers = NewAnswers(o.Signals)
	}
	l := &RateLimiter{
		runner: o.Runner, keys: o.Keys, rules: o.Rules, tel: o.Telemetry, events: o.Events,
		leases: o.Leases, lines: o.Lines, seats: seats{o.Runner, o.Keys},
		seals: newSeals(o.Runner, o.Keys, o.Clock),
		clock: o.Clock, made: o.Clock.Now(),
		inline:  inlineLimits{known: make(map[inlineKey]*limit)},
		answers: o.Answers, local: newRecent[localKey, drain](), grantIDs: newGrantIDs(),
		stats: stats{rules: make(map[string]*counters)},
	}
	if o.Signals != nil {
		o.Signals.onForget(l.forgetLocal, func() {})
	}
	l.reservations = newReservations(o.Clock, l.giveBack)
	return l
}

// Decision answers for one band.
type Decision struct {
	Allowed         bool
	Rule, Algorithm string
	// Band is limit/period of the band that refused, else of the one with the
	// least remaining, such as 80/10m.
	Band                      string
	Limit, Remaining, Current int64
	ResetAfter                time.Duration // rounded up to a millisecond
	ResetAt                   time.Time     // by the Redis server's clock, or the pod's when Degraded; zero = not known
	// RetryAfter is 0 when allowed and Never when the cost never fits.
	RetryAfter time.Duration
	Waited     time.Duration // for the slot
	DeniedBy   string        // limit, pause, delay, concurrency or deny_list
	// Shadow: it is allowed only because the rule refuses nothing; DeniedBy says
	// why it would have been refused.
	Shadow   bool
	Replayed bool
	// Degraded: the fail mode decided, and what is told of the limit is this
	// sidecar's view; of an open one only its size is known. MaybeExecuted: the
	// cost may have been taken from Redis all the same.
	Degraded, MaybeExecuted bool
	Source                  string // redis, cache, local or list
	// Held: the grant has a place, until Done.
	Held bool
	// Grant names what was taken, for Refund and Done; empty when nothing was, or
	// nobody knows.
	Grant string
}

// The sources of a Decision.
const (
	SourceRedis = "redis" // a script decided
	SourceCache = "cache" // a refusal of a moment ago still holds
	SourceLocal = "local" // the fail mode decided
	SourceList  = "list"  // the rule's allow or deny list has the key
)

// Never is Decision.RetryAfter of a cost that never fits.
const Never time.Duration = -1

// The reasons of Decision.DeniedBy.
const (
	ReasonLimit       = "limit"       // a band is used up
	ReasonPause       = "pause"       // the key is paused
	ReasonDelay       = "delay"       // the last admission was too short a time ago
	ReasonConcurrency = "concurrency" // max_concurrent grants are held
	ReasonDenyList    = "deny_list"   // the rule refuses the key
)

// Acquire takes the cost, or says when it may succeed. With Wait it takes it at a
// slot that is near enough, and returns when that comes; a call whose ctx ends
// before gives the slot back. Cost 0 only looks.
//
// A repeated request id takes over the waiting of the call before it.
func (l *RateLimiter) Acquire(ctx context.Context, c Caller, r LimitRequest) (Decision, error) {
	if r.Wait <= 0 {
		return l.decide(ctx, c, r, r.Cost == 0)
	}
	return Await(func(done func(Decision, error)) { l.AcquireThen(ctx, c, r, done) })
}

// AcquireThen is Acquire for thousands of callers that wait: it returns when there
// is nothing to do but wait, and done is called before, or later on another goroutine.
func (l *RateLimiter) AcquireThen(ctx context.Context, c Caller, r LimitRequest, done func(Decision, error)) {
	q, d, known, err := l.open(c, r, r.Cost == 0)
	if err != nil {
		done(Decision{}, err)
		return
	}
	if known || r.Wait <= 0 || q.peek || q.lim.shadow { // a rule in shadow has nobody wait
		if !known {
			d, err = l.take(ctx, q)
		}
		done(l.decided(ctx, q, d, err))
		return
	}
	l.reserve(ctx, &q, r.Wait, func(d Decision, err error) { done(l.decided(ctx, q, d, err)) })
}

// Peek answers what Acquire would without waiting, and takes nothing.
func (l *RateLimiter) Peek(ctx context.Context, r LimitRequest) (Decision, error) {
	return l.decide(ctx, Caller{}, r, true)
}

func (l *RateLimiter) decide(ctx context.Context, c Caller, r LimitRequest, peek bool) (Decision, error) {
	q, d, known, err := l.open(c, r, peek)
	if err != nil {
		return Decision{}, err
	}
	if !known {
		d, err = l.take(ctx, q)
	}
	return l.decided(ctx, q, d, err)
}

// open makes a question of a call, and answers it if that takes no Redis.
func (l *RateLimiter) open(c Caller, r LimitRequest, peek bool) (q question, d Decision, known bool, err error) {
	t, err := l.resolve(r.LimitRef)
	if err != nil {
		return q, d, false, err
	}
	if err := r.check(t.lim.algorithm); err != nil {
		return q, d, false, err
	}
	q = l.question(c, t, r, peek)
	if d, known = l.unasked(&q, t.list, r); known {
		return q, d, true, nil
	}
	q.address(l.keys)
	if !q.peek && q.cost > 0 && !q.lim.lean() {
		q.id = l.grantIDs.of(q.caller)
	}
	if q.lim.maxConcurrent > 0 {
		q.seat = l.seat(q)
	}
	return q, d, false, nil
}

// decided is what the caller is told of an answer.
func (l *RateLimiter) decided(ctx context.Context, q question, d Decision, err error) (Decision, error) {
	if err != nil {
		return Decision{}, err
	}
	if !d.Allowed && q.lim.shadow {
		d.Allowed, d.Shadow, d.RetryAfter = true, true, 0
	}
	l.tell(ctx, q, d)
	return d, nil
}

// unasked is what is decided without Redis: by a list of the rule, or as a
// moment ago.
func (l *RateLimiter) unasked(q *question, list string, r LimitRequest) (Decision, bool) {
	if list != "" {
		return q.lim.listed(list), true
	}
	if q.peek || !q.lim.denyCache {
		return Decision{}, false
	}
	var known ending
	known, q.denied, q.epoch = l.answers.get(q.lim.answerKey(q.counted))
	denied, _ := known.(denial)
	if l.answers.repeated(q.caller.RequestID) || !q.denied {
		return Decision{}, false
	}
	return denied.repeat(q.lim, r.Cost, q.begun, r.Wait)
}

func (r LimitRequest) check(algorithm string) error {
	if r.Cost < 0 || r.Cost > maxLimit {
		return invalid("cost: %d is out of range; use 0 to %d", r.Cost, int64(maxLimit))
	}
	if err := checkWait(r.Wait); err != nil {
		return err
	}
	if r.Wait > 0 && algorithm == api.AlgorithmSlidingWindowCounter {
		return invalid("wait_ms: a %s cannot promise a slot; leave it out, or use %s", algorithm, api.AlgorithmSlidingWindowLog)
	}
	if m := r.FailMode.mistake(); m != "" {
		return invalid("fail_mode: %s", m)
	}
	return nil
}

// Reset forgets the state of one key and reports whether there was any. Slots
// that were promised stay so to those who wait for them.
func (l *RateLimiter) Reset(ctx context.Context, ref LimitRef) (bool, error) {
	t, err := l.resolve(ref)
	if err != nil {
		return false, err
	}
	lim := t.lim
	state := l.keys.limit(lim.rule, t.counted, lim.part)
	out, err := lua.Run(ctx, l.runner, lua.RatelimitReset, lua.RatelimitResetIn{
		State: state, Channel: l.keys.broadcast(),
	}, lua.Latch{})
	if err != nil {
		return false, failed("ratelimit "+lim.label()+": reset", err)
	}
	l.forget(topicReset, state)
	return out.Value, nil
}

// now is the time since the limiter was made.
func (l *RateLimiter) now() time.Duration { return l.clock.Now().Sub(l.made) }

// resolve finds what a call names, and checks its key and group.
func (l *RateLimiter) resolve(ref LimitRef) (target, error) {
	if err := checkCounted(ref.Key, ref.Group); err != nil {
		return target{}, err
	}
	inline := ref.Algorithm != "" || len(ref.Limits) > 0
	switch {
	case ref.Rule != "" && inline:
		return target{}, invalid("rule: given together with algorithm or limits; give the one or the other")
	case ref.Rule != "":
		r, err := l.rules.find(ref.Rule)
		if err != nil {
			return target{}, err
		}
		return r.of(ref.Key, ref.Group), nil
	case inline:
		lim, err := l.inline.find(ref.Algorithm, ref.Limits)
		if err != nil {
			return target{}, err
		}
		return target{lim: lim, counted: cmp.Or(ref.Group, ref.Key), override: -1}, nil
	default:
		return target{}, invalid("rule: missing; name a rule, or give algorithm and limits")
	}
}
