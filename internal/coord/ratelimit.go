package coord

import (
	"context"
	"fmt"
	"time"

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
	Signals   *Signals // nil: what happens in other sidecars is seen within a second
	Events    *Events  // may be nil
	Telemetry *telemetry.Telemetry
	Clock     Clock // nil = the pod's
}

// RateLimiter decides whether a call may go now, or when.
//
// It goes on while the sidecar drains: a decision holds nothing that would have
// to be given back, and a pod that finishes its last requests must still keep
// to the limits it shares.
type RateLimiter struct {
	runner       *lua.Runner
	keys         Keys
	rules        *Rules
	inline       inlineLimits
	tel          *telemetry.Telemetry
	events       *Events
	clock        Clock
	made         time.Time
	reservations *reservations
	denials      *denials
	local        *recent[localKey, drain]
}

// nounRatelimit is the noun of events.
const nounRatelimit = "ratelimit"

// NewRateLimiter makes the noun.
func NewRateLimiter(o RateLimiterOptions) *RateLimiter {
	if o.Clock == nil {
		o.Clock = systemClock{}
	}
	l := &RateLimiter{
		runner: o.Runner, keys: o.Keys, rules: o.Rules, tel: o.Telemetry, events: o.Events,
		clock: o.Clock, made: o.Clock.Now(),
		inline:  inlineLimits{known: make(map[inlineKey]*limit)},
		denials: newDenials(), local: newRecent[localKey, drain](),
	}
	if o.Signals != nil {
		o.Signals.onForget(l.forget, l.denials.clear)
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
	Replayed   bool
	// Degraded: the fail mode decided, and what is told of the limit is this
	// sidecar's view; of an open one only its size is known. MaybeExecuted: the
	// cost may have been taken from Redis all the same.
	Degraded, MaybeExecuted bool
	Source                  string // redis, cache or local
}

// The sources of a Decision.
const (
	SourceRedis = "redis" // a script decided
	SourceCache = "cache" // a refusal of a moment ago still holds
	SourceLocal = "local" // the fail mode decided
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
	return l.decide(ctx, c, r, r.Cost == 0)
}

// Peek answers what Acquire would without waiting, and takes nothing.
func (l *RateLimiter) Peek(ctx context.Context, r LimitRequest) (Decision, error) {
	return l.decide(ctx, Caller{}, r, true)
}

func (l *RateLimiter) decide(ctx context.Context, c Caller, r LimitRequest, peek bool) (Decision, error) {
	lim, err := l.find(r.LimitRef)
	if err != nil {
		return Decision{}, err
	}
	if err := r.check(); err != nil {
		return Decision{}, err
	}
	q := question{lim: lim, key: r.Key, cost: r.Cost, peek: peek, mode: r.FailMode.or(lim.failMode), begun: l.now()}
	if !peek && lim.denyCache {
		var denied denial
		var found bool
		denied, found, q.epoch = l.denials.get(lim.answerKey(r.Key))
		asked := l.denials.repeated(c.RequestID)
		q.denied = found
		if found && !asked {
			if d, ok := denied.repeat(lim, r.Cost, q.begun, r.Wait); ok {
				l.tell(ctx, q, d)
				return d, nil
			}
		}
	}
	tag := limitTag(lim.rule, r.Key)
	q.state, q.gate = l.keys.limitPart(tag, lim.algorithm), l.keys.gate(tag)
	q.latch = latch(q.state, c)
	var d Decision
	if r.Wait > 0 && !peek {
		d, err = l.reserve(ctx, q, r.Wait)
	} else {
		d, _, err = l.ask(ctx, q)
	}
	if err != nil {
		return Decision{}, err
	}
	l.tell(ctx, q, d)
	return d, nil
}

// tell counts a decision, and shows those that operators may want to see.
func (l *RateLimiter) tell(ctx context.Context, q question, d Decision) {
	if q.peek {
		return
	}
	outcome := "allowed"
	if !d.Allowed {
		outcome = d.DeniedBy
		if l.events.Wanted() {
			l.events.Publish(Event{Kind: EventRefused, Noun: nounRatelimit, Name: q.lim.rule, Key: q.key, Reason: d.DeniedBy})
		}
	}
	switch {
	case !d.Degraded:
		l.tel.Decision(ctx, q.lim.label(), outcome, min(1, float64(d.Remaining)/float64(max(1, d.Limit))))
	case d.Allowed:
		l.tel.Degraded(ctx, q.lim.label(), "degraded_allowed")
	default:
		l.tel.Degraded(ctx, q.lim.label(), "degraded_limit")
	}
}

func (r LimitRequest) check() error {
	if r.Cost < 0 || r.Cost > maxLimit {
		return invalid("cost: %d is out of range; use 0 to %d", r.Cost, int64(maxLimit))
	}
	if err := checkWait(r.Wait); err != nil {
		return err
	}
	if m := r.FailMode.mistake(); m != "" {
		return invalid("fail_mode: %s", m)
	}
	return nil
}

// question is what a script is asked.
type question struct {
	lim   *limit
	key   string // as the caller wrote it
	state string // Redis's key
	gate  string // the one beside it
	latch lua.Latch
	cost  int64
	peek  bool
	wait  int64 // us
	mode  FailMode
	begun time.Duration // on the limiter's clock
	epoch uint64        // of the denials, then
	// denied: a refusal is remembered, whose wait is longer once this is let through.
	denied bool
}

type answer = lua.Outcome[lua.RatelimitOut]

// ask has a script decide, or else the fail mode.
func (l *RateLimiter) ask(ctx context.Context, q question) (Decision, answer, error) {
	out, err := l.charge(ctx, q)
	if err != nil {
		d, err := l.unanswered(ctx, q, err)
		return d, answer{}, err
	}
	d, err := q.lim.decision(out)
	switch {
	case err != nil:
		return Decision{}, out, failed("ratelimit "+q.lim.label()+": reply", err)
	case q.peek:
	case !d.Allowed && q.lim.denyCache:
		l.denials.put(q.lim.answerKey(q.key), denial{
			state: q.state, cost: q.cost, at: q.begun,
			retryUS: out.Value.RetryAfterUS, resetUS: out.Value.ResetAfterUS, decision: d,
		}, q.epoch)
	case d.Allowed:
		if q.denied {
			l.denials.drop(q.lim.answerKey(q.key))
		}
		if q.mode == FailLocal && !d.Replayed {
			l.keepWarm(q)
		}
	}
	return d, out, nil
}

// unanswered is what the fail mode makes of a script's failure.
func (l *RateLimiter) unanswered(ctx context.Context, q question, err error) (Decision, error) {
	e := failed("ratelimit "+q.lim.label()+": acquire", err)
	// Looking changes nothing, so that nothing was executed.
	e.MaybeExecuted = e.MaybeExecuted && !q.peek
	if !unanswered(ctx, err) {
		return Decision{}, e
	}
	if !q.peek && l.events.Wanted() {
		l.events.Publish(Event{Kind: EventDegraded, Noun: nounRatelimit, Name: q.lim.rule, Key: q.key, Reason: string(q.mode)})
	}
	if q.mode == FailClosed {
		if !q.peek {
			l.tel.Degraded(ctx, q.lim.label(), "unavailable")
		}
		return Decision{}, e
	}
	d := l.stand(q)
	d.MaybeExecuted = e.MaybeExecuted
	return d, nil
}

// charge runs the lean script where there is one, on the same state.
func (l *RateLimiter) charge(ctx context.Context, q question) (answer, error) {
	lim := q.lim
	if lim.lean() {
		return run(ctx, l.runner, lua.RatelimitTokenBucket, lua.RatelimitTokenBucketIn{
			State: q.state, Gate: q.gate, Cost: q.cost, Peek: q.peek, WaitUS: q.wait,
			Revision: lim.revision, Signature: lim.signature, Band: lim.bands[0],
		}, q)
	}
	return run(ctx, l.runner, lua.Ratelimit[lim.algorithm], lua.RatelimitIn{
		State: q.state, Gate: q.gate, Cost: q.cost, Peek: q.peek, WaitUS: q.wait,
		Revision: lim.revision, Signature: lim.signature,
	}, q)
}

// run waits out an outage only when nothing else could answer.
func run[I lua.Input](ctx context.Context, r *lua.Runner, s lua.Script[I, lua.RatelimitOut], in I, q question) (answer, error) {
	if q.wait > 0 {
		var done context.CancelFunc
		ctx, done = outlive(ctx, giveBackTime)
		defer done()
	}
	if q.mode == FailClosed {
		return lua.Run(ctx, r, s, in, q.latch)
	}
	return lua.Attempt(ctx, r, s, in, q.latch)
}

// outlive is a context that ends only some time after ctx: who leaves while its
// slot is being promised has to learn of it, or nobody could give it back.
func outlive(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		late := time.AfterFunc(by, cancel)
		context.AfterFunc(longer, func() { late.Stop() })
	})
	return longer, func() { stop(); cancel() }
}

// Reset forgets the state of one key and reports whether there was any. Slots
// that were promised stay so to those who wait for them.
func (l *RateLimiter) Reset(ctx context.Context, ref LimitRef) (bool, error) {
	lim, err := l.find(ref)
	if err != nil {
		return false, err
	}
	state := l.keys.limit(lim.rule, ref.Key, lim.algorithm)
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

// find resolves what a call names, and checks its key.
func (l *RateLimiter) find(ref LimitRef) (*limit, error) {
	if err := checkText("key", ref.Key); err != nil {
		return nil, err
	}
	inline := ref.Algorithm != "" || len(ref.Limits) > 0
	switch {
	case ref.Rule != "" && inline:
		return nil, invalid("rule: given together with algorithm or limits; give the one or the other")
	case ref.Rule != "":
		return l.rules.find(ref.Rule)
	case inline:
		return l.inline.find(ref.Algorithm, ref.Limits)
	default:
		return nil, invalid("rule: missing; name a rule, or give algorithm and limits")
	}
}

// label is the rule's name for metrics and logs: never a key.
func (l *limit) label() string {
	if l.rule == "" {
		return "inline"
	}
	return l.rule
}

// decision puts a script's answer into the rule's words. Waits are rounded up,
// so that who sleeps exactly that long and asks again is not a moment early.
func (l *limit) decision(out lua.Outcome[lua.RatelimitOut]) (Decision, error) {
	o := out.Value
	if o.Band < 1 || o.Band > int64(len(l.bands)) {
		return Decision{}, fmt.Errorf("band %d of %d", o.Band, len(l.bands))
	}
	d := Decision{
		Allowed: o.Allowed || o.Reserved, Rule: l.rule, Algorithm: l.algorithm,
		Band: l.names[o.Band-1], Limit: l.limits[o.Band-1], Remaining: o.Remaining, Current: o.Current,
		ResetAfter: ceilMS(o.ResetAfterUS),
		ResetAt:    time.UnixMilli((o.NowUS + o.ResetAfterUS + 999) / 1000),
		Replayed:   out.Replayed, Source: SourceRedis,
	}
	if o.Reserved {
		// When the slot comes, the debt has drained down to it.
		d.Current = min(d.Current, l.bands[o.Band-1].Capacity)
	}
	if d.Allowed {
		return d, nil
	}
	d.DeniedBy, d.RetryAfter = o.Denied, Never
	if o.RetryAfterUS >= 0 {
		d.RetryAfter = ceilMS(o.RetryAfterUS)
	}
	return d, nil
}

// ceilMS is a duration of microseconds, rounded up to a millisecond.
func ceilMS(us int64) time.Duration {
	return time.Duration((us+999)/1000) * time.Millisecond
}
