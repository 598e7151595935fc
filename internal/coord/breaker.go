package coord

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// nounBreaker is the noun of probes, events and metrics.
const nounBreaker = "breaker"

// fieldBreaker is where a breaker of its own is kept in its hash: those of a
// pool's members are side by side, under the members' names.
const fieldBreaker = "b"

// BreakersOptions are what the noun is made of.
type BreakersOptions struct {
	Runner    *lua.Runner
	Keys      Keys
	Policies  *BreakerPolicies
	Leases    *Leases
	Answers   *Answers
	Events    *Events // may be nil
	Telemetry *telemetry.Telemetry
	Clock     Clock // nil = the pod's
}

// Breakers are circuit breakers that all sidecars share.
//
// They go on while the sidecar drains: a pod that finishes its last requests must
// still spare what is down. A probe of it is given back with its session.
type Breakers struct {
	runner   *lua.Runner
	keys     Keys
	policies *BreakerPolicies
	leases   *Leases
	answers  *Answers
	events   *Events
	tel      *telemetry.Telemetry
	clock    Clock
	made     time.Time
}

// NewBreakers makes the noun.
func NewBreakers(o BreakersOptions) *Breakers {
	if o.Clock == nil {
		o.Clock = systemClock{}
	}
	return &Breakers{
		runner: o.Runner, keys: o.Keys, policies: o.Policies, leases: o.Leases, answers: o.Answers, events: o.Events,
		tel: o.Telemetry, clock: o.Clock, made: o.Clock.Now(),
	}
}

// BreakerRef names a breaker; with Pool it is that of the member Name.
type BreakerRef struct {
	Name, Pool string
	Policy     string // empty = the first whose name matches, else the default
}

// BreakerDecision says whether a call may be made.
type BreakerDecision struct {
	Allowed    bool
	State      string
	Generation int64
	Probe      string // the probe that the call is, if it is one
	// RetryAfter is 0 when allowed, and Never of one that is forced open.
	RetryAfter time.Duration
	// Degraded: the fail mode decided, and neither state nor generation is known.
	// MaybeExecuted: a probe may be out all the same.
	Degraded, MaybeExecuted bool
	Source                  string // redis, cache or local
	Replayed                bool
}

// shut is a refusal of an open breaker.
type shut struct {
	key      string
	at       time.Duration // when it was asked for
	retryUS  int64         // -1 = it is forced open
	decision BreakerDecision
}

func (s shut) about() string { return s.key }
func (s shut) ends() time.Duration {
	if s.retryUS < 0 {
		return s.at + maxCached
	}
	return s.at + min(time.Duration(s.retryUS)*time.Microsecond, maxCached)
}

// repeat is what the refusal says at now; false when Redis has to be asked.
func (s shut) repeat(now time.Duration) (BreakerDecision, bool) {
	d := s.decision
	d.Source = SourceCache
	if s.retryUS >= 0 {
		d.RetryAfter = roundUp(time.Duration(s.retryUS)*time.Microsecond - (now - s.at))
	}
	return d, now < s.ends()
}

// Allow asks whether a call may be made. What it hands out while half open is a
// probe, which the caller's session has until it reports, or until the policy's
// ProbeTTL is over. mode is for when Redis does not answer; empty = the policy's.
//
// A repeated request id is answered by what became of its probe.
func (b *Breakers) Allow(ctx context.Context, c Caller, r BreakerRef, mode FailMode) (BreakerDecision, error) {
	at, revision, err := b.find(r)
	if err != nil {
		return BreakerDecision{}, err
	}
	if mode = mode.or(at.policy.FailMode); mode != FailOpen && mode != FailClosed {
		return BreakerDecision{}, invalid("fail_mode: %q is not one of a breaker; use closed or open", mode)
	}
	now := b.now()
	id := answerKey{kindBreaker, r.Name, r.Pool, at.policy.Name, revision}
	known, _, epoch := b.answers.get(id)
	repeated := b.answers.repeated(c.RequestID)
	if s, ok := known.(shut); ok && !repeated {
		if d, ok := s.repeat(now); ok {
			b.tel.BreakerDecided(ctx, d.State)
			return d, nil
		}
	}
	d, retryUS, err := b.ask(ctx, c, r, at, mode)
	if err != nil {
		return BreakerDecision{}, err
	}
	if !d.Allowed && !d.Replayed && d.State != api.BreakerHalfOpen {
		b.answers.put(id, shut{at.key, now, retryUS, d}, epoch)
	}
	return d, nil
}

// ask has Redis decide, or else the fail mode. It also tells, in microseconds,
// when the call may pass.
func (b *Breakers) ask(ctx context.Context, c Caller, r BreakerRef, at breakerAt, mode FailMode) (BreakerDecision, int64, error) {
	probe := makeToken(c, nounBreaker, r.Pool+"/"+r.Name)
	in := lua.BreakerAllowIn{BreakerIn: at.in(), Probe: probe, Session: c.sessionID()}
	run := lua.Run[lua.BreakerAllowIn, lua.BreakerAllowOut]
	switch {
	case mode == FailOpen:
		run = lua.Attempt[lua.BreakerAllowIn, lua.BreakerAllowOut]
	case c.HasDeadline:
		run = lua.Insist[lua.BreakerAllowIn, lua.BreakerAllowOut]
	}
	out, err := run(ctx, b.runner, lua.BreakerAllow, in, latch(at.key, c))
	x := b.lease(c, r, probe, at)
	if err != nil {
		b.unsure(ctx, c, x, mode, err)
		d, err := b.unanswered(ctx, r, mode, err)
		return d, 0, err
	}
	v := out.Value
	d := BreakerDecision{
		Allowed: v.Allowed, State: v.State, Generation: v.Generation, RetryAfter: retryAfter(v.RetryUS),
		Source: SourceRedis, Replayed: out.Replayed,
	}
	if v.Probe {
		d.Probe = probe
		if out.Replayed {
			d, err := b.replay(ctx, c, r, x, at, d)
			if unanswered(ctx, err) {
				d, err = b.unanswered(ctx, r, mode, err)
			}
			return d, 0, err
		}
		b.changed(ctx, r, v.Was, v.State, "")
		if err := b.keepProbe(ctx, c, x, out.Sent); err != nil {
			return BreakerDecision{}, 0, err
		}
	}
	b.tel.BreakerDecided(ctx, decided(d))
	return d, v.RetryUS, nil
}

// decided is the outcome of a decision, for its metric.
func decided(d BreakerDecision) string {
	switch {
	case d.Probe != "":
		return "probe"
	case d.Allowed:
		return "allowed"
	default:
		return d.State
	}
}

// unanswered is what the fail mode makes of a script's failure.
func (b *Breakers) unanswered(ctx context.Context, r BreakerRef, mode FailMode, err error) (BreakerDecision, error) {
	e := failed("breaker "+r.Name+": allow", err)
	if !unanswered(ctx, err) {
		return BreakerDecision{}, e
	}
	if b.events.Wanted() {
		b.events.Publish(Event{Kind: EventDegraded, Noun: nounBreaker, Name: r.Name, Key: r.Pool, Reason: string(mode)})
	}
	if mode == FailClosed {
		b.tel.BreakerDecided(ctx, "unavailable")
		return BreakerDecision{}, e
	}
	b.tel.BreakerDecided(ctx, "degraded_allowed")
	return BreakerDecision{
		Allowed: true, State: api.BreakerClosed, Degraded: true, MaybeExecuted: e.MaybeExecuted, Source: SourceLocal,
	}, nil
}

// BreakerReport is what became of a call.
type BreakerReport struct {
	BreakerRef
	Generation int64         // that let it through; 0 = the present one, if it is closed
	Probe      string        // that it was; empty = none
	Outcome    string        // success, failure or ignored
	Duration   time.Duration // 0 = nobody says
}

// BreakerState is a breaker after something happened to it.
type BreakerState struct {
	State      string
	Generation int64
	Changed    bool // by that
	Counted    bool // the report did
	Replayed   bool
}

// maxGeneration is what a script counts exactly.
const maxGeneration = 1<<53 - 1

var outcomes = []string{api.OutcomeFailure, api.OutcomeIgnored, api.OutcomeSuccess}

// Report counts what became of a call, in whatever session. That of a probe runs
// on its own time: a caller that goes away does not stop it.
func (b *Breakers) Report(ctx context.Context, c Caller, r BreakerReport) (BreakerState, error) {
	at, _, err := b.find(r.BreakerRef)
	if err != nil {
		return BreakerState{}, err
	}
	if !slices.Contains(outcomes, r.Outcome) {
		return BreakerState{}, invalid("outcome: %q is not one; use success, failure or ignored", r.Outcome)
	}
	if r.Generation < 0 || r.Generation > maxGeneration {
		return BreakerState{}, invalid("generation: %d is out of range; give that of a breaker.allow, or leave it out", r.Generation)
	}
	if r.Duration < 0 || r.Duration > maxBreakerCall {
		return BreakerState{}, invalid("duration_ms: %d is out of range; use 0 to %d", r.Duration.Milliseconds(), maxBreakerCall.Milliseconds())
	}
	var out lua.Outcome[lua.BreakerReportOut]
	run := func(ctx context.Context) (err error) {
		out, err = lua.Run(ctx, b.runner, lua.BreakerReport, lua.BreakerReportIn{
			BreakerIn: at.in(), Generation: r.Generation, Probe: r.Probe, Outcome: r.Outcome,
			DurationUS: r.Duration.Microseconds(), Channel: b.keys.broadcast(),
		}, latch(at.key, c))
		return err
	}
	if r.Probe != "" {
		err = b.leases.release(ctx, c, leaseID{nounBreaker, r.Name, r.Probe}, run)
	} else if err = run(ctx); err != nil {
		err = failed("breaker "+r.Name+": report", err)
	}
	if err != nil {
		return BreakerState{}, err
	}
	v := out.Value
	s := BreakerState{State: v.State, Generation: v.Generation, Counted: v.Counted, Changed: v.Was != v.State, Replayed: out.Replayed}
	if s.Changed && !out.Replayed {
		b.answers.forget(at.key)
		detail := ""
		if v.OpenUS > 0 {
			detail = fmt.Sprintf("for %v", ceilMS(v.OpenUS))
		}
		b.changed(ctx, r.BreakerRef, v.Was, v.State, detail)
	}
	if s.Changed || r.Probe != "" {
		_ = b.touched(ctx, r.BreakerRef) // it was counted; see there for what is late then
	}
	return s, nil
}

// changed counts and tells a change of state that happened here.
func (b *Breakers) changed(ctx context.Context, r BreakerRef, was, is, detail string) {
	if was == is {
		return
	}
	b.tel.BreakerChanged(ctx, was, is)
	if b.events.Wanted() {
		if detail != "" {
			detail = ", " + detail
		}
		b.events.Publish(Event{
			Kind: EventBreaker, Noun: nounBreaker, Name: r.Name, Key: r.Pool, Reason: is, Detail: "it was " + was + detail,
		})
	}
}

// find is where a breaker is kept, and the revision of the policies.
func (b *Breakers) find(r BreakerRef) (breakerAt, int64, error) {
	if err := checkText("name", r.Name); err != nil {
		return breakerAt{}, 0, err
	}
	matched, key, field := r.Name, b.keys.breaker(r.Name), fieldBreaker
	if r.Pool != "" {
		if err := checkText("pool", r.Pool); err != nil {
			return breakerAt{}, 0, err
		}
		matched, key, field = r.Pool, b.keys.memberBreakers(r.Pool), r.Name
	}
	revision := b.policies.revision()
	p, err := b.policies.Find(r.Policy, matched)
	if err != nil {
		return breakerAt{}, 0, err
	}
	return breakerAt{key, field, p}, revision, nil
}

// now is the time since the noun was made.
func (b *Breakers) now() time.Duration { return b.clock.Now().Sub(b.made) }

// retryAfter is a script's wait, rounded up; -1 is Never.
func retryAfter(us int64) time.Duration {
	if us < 0 {
		return Never
	}
	return ceilMS(us)
}
