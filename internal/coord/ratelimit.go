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
}

// LimitRequest asks for a decision.
type LimitRequest struct {
	LimitRef
	Cost int64 // 0 only looks
	// Wait is how long the call may wait for a slot that is promised to it, at
	// most 60 s; the call's deadline, less a moment for the answer, bounds it too.
	Wait time.Duration
}

// RateLimiterOptions are what the noun is made of.
type RateLimiterOptions struct {
	Runner    *lua.Runner
	Keys      Keys
	Rules     *Rules
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
	clock        Clock
	reservations *reservations
}

// NewRateLimiter makes the noun.
func NewRateLimiter(o RateLimiterOptions) *RateLimiter {
	if o.Clock == nil {
		o.Clock = systemClock{}
	}
	l := &RateLimiter{
		runner: o.Runner, keys: o.Keys, rules: o.Rules, tel: o.Telemetry, clock: o.Clock,
		inline: inlineLimits{known: make(map[inlineKey]*limit)},
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
	ResetAt                   time.Time     // by the Redis server's clock
	// RetryAfter is 0 when allowed and Never when the cost never fits.
	RetryAfter time.Duration
	Waited     time.Duration // for the slot
	DeniedBy   string        // limit
	Replayed   bool
}

// Never is Decision.RetryAfter of a cost that never fits.
const Never time.Duration = -1

// ReasonLimit is Decision.DeniedBy of a band that is used up.
const ReasonLimit = "limit"

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
	q := question{lim: lim, state: l.keys.limit(lim.rule, r.Key, lim.algorithm), cost: r.Cost, peek: peek}
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
	if !peek {
		outcome := "allowed"
		if !d.Allowed {
			outcome = d.DeniedBy
		}
		l.tel.Decision(ctx, lim.label(), outcome, min(1, float64(d.Remaining)/float64(max(1, d.Limit))))
	}
	return d, nil
}

// maxWait bounds LimitRequest.Wait, as on the wire.
const maxWait = time.Minute

func (r LimitRequest) check() error {
	if r.Cost < 0 || r.Cost > maxLimit {
		return invalid("cost: %d is out of range; use 0 to %d", r.Cost, int64(maxLimit))
	}
	if r.Wait < 0 || r.Wait > maxWait {
		return invalid("wait_ms: %d is out of range; use 0 to %d", r.Wait.Milliseconds(), maxWait.Milliseconds())
	}
	return nil
}

// question is what a script is asked.
type question struct {
	lim   *limit
	state string // key
	latch lua.Latch
	cost  int64
	peek  bool
	wait  int64 // us
}

type answer = lua.Outcome[lua.RatelimitOut]

// ask has a script decide.
func (l *RateLimiter) ask(ctx context.Context, q question) (Decision, answer, error) {
	out, err := l.charge(ctx, q)
	if err != nil {
		e := failed("ratelimit "+q.lim.label()+": acquire", err)
		// Looking changes nothing, so that nothing was executed.
		e.MaybeExecuted = e.MaybeExecuted && !q.peek
		return Decision{}, out, e
	}
	d, err := q.lim.decision(out)
	if err != nil {
		return Decision{}, out, failed("ratelimit "+q.lim.label()+": reply", err)
	}
	return d, out, nil
}

// charge runs the lean script where there is one band, on the same state.
func (l *RateLimiter) charge(ctx context.Context, q question) (answer, error) {
	lim := q.lim
	if len(lim.bands) == 1 {
		return lua.Run(ctx, l.runner, lua.RatelimitTokenBucket, lua.RatelimitTokenBucketIn{
			Bucket: q.state, Cost: q.cost, Peek: q.peek, WaitUS: q.wait,
			Revision: lim.revision, Signature: lim.signature, Band: lim.bands[0],
		}, q.latch)
	}
	return lua.Run(ctx, l.runner, lua.RatelimitTokenBucketBands, lua.RatelimitTokenBucketBandsIn{
		Bucket: q.state, Cost: q.cost, Peek: q.peek, WaitUS: q.wait,
		Revision: lim.revision, Signature: lim.signature, Bands: lim.bands,
	}, q.latch)
}

// Reset forgets the state of one key and reports whether there was any. Slots
// that were promised stay so to those who wait for them.
func (l *RateLimiter) Reset(ctx context.Context, ref LimitRef) (bool, error) {
	lim, err := l.find(ref)
	if err != nil {
		return false, err
	}
	out, err := lua.Run(ctx, l.runner, lua.RatelimitReset, lua.RatelimitResetIn{
		State: l.keys.limit(lim.rule, ref.Key, lim.algorithm), Channel: l.keys.broadcast(),
	}, lua.Latch{})
	if err != nil {
		return false, failed("ratelimit "+lim.label()+": reset", err)
	}
	return out.Value, nil
}

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
		Replayed:   out.Replayed,
	}
	if o.Reserved {
		// When the slot comes, the debt has drained down to it.
		d.Current = min(d.Current, l.bands[o.Band-1].Capacity)
	}
	if d.Allowed {
		return d, nil
	}
	d.DeniedBy, d.RetryAfter = ReasonLimit, Never
	if o.RetryAfterUS >= 0 {
		d.RetryAfter = ceilMS(o.RetryAfterUS)
	}
	return d, nil
}

// ceilMS is a duration of microseconds, rounded up to a millisecond.
func ceilMS(us int64) time.Duration {
	return time.Duration((us+999)/1000) * time.Millisecond
}
