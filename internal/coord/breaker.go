package coord

import (
	"context"
	"fmt"
	"reflect"
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
	Members   Members
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
	keys     breakerKeys
	policies *BreakerPolicies
	members  Members
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
		runner: o.Runner, keys: breakerKeys{o.Keys}, policies: o.Policies, members: o.Members, leases: o.Leases, answers: o.Answers, events: o.Events,
		tel: o.Telemetry, clock: o.Clock, made: o.Clock.Now(),
	}
}

// Methods are those of the noun.
func (b *Breakers) Methods() []Method {
	byName := NamedBy(func(params reflect.Type) Naming { return inPool(params, named(params, nounBreaker, "name")) })
	return []Method{
		On(api.BreakerAllow, b.Allow, Acquires, Piped, byName),
		On(api.BreakerReport, b.Report, Piped, byName),
		On(api.BreakerGet, b.Get, byName),
		On(api.BreakerReset, b.Reset, byName),
		On(api.BreakerForce, b.Force, byName),
	}
}

// shut is a refusal of an open breaker.
type shut struct {
	key     string
	at      time.Duration // when it was asked for
	retryUS int64         // -1 = it is forced open
	result  api.BreakerAllowResult
}

func (s shut) about() string { return s.key }
func (s shut) ends() time.Duration {
	if s.retryUS < 0 {
		return s.at + maxCached
	}
	return s.at + min(time.Duration(s.retryUS)*time.Microsecond, maxCached)
}

// repeat is what the refusal says at now; false when Redis has to be asked.
func (s shut) repeat(now time.Duration) (api.BreakerAllowResult, bool) {
	r := s.result
	r.Source = SourceCache
	if s.retryUS >= 0 {
		r.RetryAfterMS = roundUp(time.Duration(s.retryUS)*time.Microsecond - (now - s.at)).Milliseconds()
	}
	return r, now < s.ends()
}

// Allow asks whether a call may be made. What it hands out while half open is a
// probe, which the caller's session has until it reports, or until the policy's
// probe_ttl_ms is over. The fail mode, of the call or else of the policy, is for when
// Redis does not answer.
//
// A repeated request id is answered by what became of its probe.
func (b *Breakers) Allow(ctx context.Context, c Caller, p *api.BreakerAllowParams) (api.BreakerAllowResult, error) {
	at, revision, err := b.find(p.Name, p.Pool, p.Policy)
	if err != nil {
		return api.BreakerAllowResult{}, err
	}
	now := b.now()
	id := answerKey{nounBreaker, p.Name, p.Pool, at.policy.Name, revision}
	known, _, epoch := b.answers.get(id)
	repeated := b.answers.repeated(c.RequestID)
	if s, ok := known.(shut); ok && !repeated {
		if r, ok := s.repeat(now); ok {
			b.tel.BreakerDecided(ctx, r.State)
			return r, nil
		}
	}
	r, retryUS, err := b.ask(ctx, c, at, FailMode(p.FailMode).or(FailMode(at.policy.FailMode)))
	if err != nil {
		return api.BreakerAllowResult{}, err
	}
	if !r.Allowed && !r.Replayed && r.State != api.BreakerHalfOpen {
		b.answers.put(id, shut{at.key, now, retryUS, r}, epoch)
	}
	return r, nil
}

// ask has Redis decide, or else the fail mode. It also returns after how many
// microseconds the call may pass.
func (b *Breakers) ask(ctx context.Context, c Caller, at breakerAt, mode FailMode) (api.BreakerAllowResult, int64, error) {
	probe := makeToken(c, nounBreaker, at.pool+"/"+at.name)
	in := lua.BreakerAllowIn{BreakerIn: at.in(), Probe: probe, Session: c.sessionID()}
	run := lua.Run[lua.BreakerAllowIn, lua.BreakerAllowOut]
	switch {
	case mode == FailOpen:
		run = lua.Attempt[lua.BreakerAllowIn, lua.BreakerAllowOut]
	case c.HasDeadline:
		run = lua.Insist[lua.BreakerAllowIn, lua.BreakerAllowOut]
	}
	out, err := run(ctx, b.runner, lua.BreakerAllow, in, Latch(at.key, c))
	x := b.lease(c, at, probe)
	if err != nil {
		b.unsure(ctx, c, x, mode, err)
		r, err := b.unanswered(ctx, at, mode, err)
		return r, 0, err
	}
	v := out.Value
	r := api.BreakerAllowResult{
		Allowed: v.Allowed, State: v.State, Generation: v.Generation, RetryAfterMS: waitMS(v.RetryUS),
		Source: SourceRedis, Replayed: out.Replayed,
	}
	if v.Probe {
		r.Probe = probe
		if out.Replayed {
			r, err := b.replay(ctx, c, x, at, r)
			if unanswered(ctx, err) {
				r, err = b.unanswered(ctx, at, mode, err)
			}
			return r, 0, err
		}
		b.changed(ctx, at, v.Was, v.State, "")
		if err := b.keepProbe(ctx, c, x, out.Sent); err != nil {
			return api.BreakerAllowResult{}, 0, err
		}
	}
	b.tel.BreakerDecided(ctx, decided(r))
	return r, v.RetryUS, nil
}

// decided is the outcome of a decision, for its metric.
func decided(r api.BreakerAllowResult) string {
	switch {
	case r.Probe != "":
		return "probe"
	case r.Allowed:
		return "allowed"
	default:
		return r.State
	}
}

// unanswered is what the fail mode makes of a script's failure.
func (b *Breakers) unanswered(ctx context.Context, at breakerAt, mode FailMode, err error) (api.BreakerAllowResult, error) {
	e := Failed("breaker "+at.name+": allow", err)
	if !unanswered(ctx, err) {
		return api.BreakerAllowResult{}, e
	}
	if b.events.Wanted() {
		b.events.Publish(Event{Kind: EventDegraded, Noun: nounBreaker, Name: at.name, Key: at.pool, Reason: string(mode)})
	}
	if mode == FailClosed {
		b.tel.BreakerDecided(ctx, "unavailable")
		return api.BreakerAllowResult{}, e
	}
	b.tel.BreakerDecided(ctx, "degraded_allowed")
	return api.BreakerAllowResult{
		Allowed: true, State: api.BreakerClosed, Degraded: true, MaybeExecuted: e.MaybeExecuted, Source: SourceLocal,
	}, nil
}

// Report counts what became of a call, in whatever session. That of a probe runs
// on its own time: a caller that goes away does not stop it.
func (b *Breakers) Report(ctx context.Context, c Caller, p *api.BreakerReportParams) (api.BreakerReportResult, error) {
	at, _, err := b.find(p.Name, p.Pool, p.Policy)
	if err != nil {
		return api.BreakerReportResult{}, err
	}
	run := func(ctx context.Context) (lua.Outcome[lua.BreakerReportOut], error) {
		return lua.Run(ctx, b.runner, lua.BreakerReport, lua.BreakerReportIn{
			BreakerIn: at.in(), Generation: p.Generation, Probe: p.Probe, Outcome: p.Outcome,
			DurationUS: Millis(p.DurationMS).Microseconds(), Channel: b.keys.broadcast(),
		}, Latch(at.key, c))
	}
	var out lua.Outcome[lua.BreakerReportOut]
	if p.Probe != "" {
		out, err = release(ctx, b.leases, c, leaseID{nounBreaker, p.Name, p.Probe}, run)
	} else if out, err = run(ctx); err != nil {
		err = Failed("breaker "+p.Name+": report", err)
	}
	if err != nil {
		return api.BreakerReportResult{}, err
	}
	v := out.Value
	r := api.BreakerReportResult{
		State: v.State, Generation: v.Generation, Counted: v.Counted, Changed: v.Was != v.State, Replayed: out.Replayed,
	}
	if r.Changed && !out.Replayed {
		b.answers.forget(at.key)
		detail := ""
		if v.OpenUS > 0 {
			detail = fmt.Sprintf("for %v", ceilMS(v.OpenUS))
		}
		b.changed(ctx, at, v.Was, v.State, detail)
	}
	if r.Changed || p.Probe != "" {
		_ = b.touched(ctx, at) // it was counted; see there for what is late then
	}
	return r, nil
}

// changed counts and tells a change of state that happened here.
func (b *Breakers) changed(ctx context.Context, at breakerAt, was, is, detail string) {
	if was == is {
		return
	}
	b.tel.BreakerChanged(ctx, was, is)
	if b.events.Wanted() {
		if detail != "" {
			detail = ", " + detail
		}
		b.events.Publish(Event{
			Kind: EventBreaker, Noun: nounBreaker, Name: at.name, Key: at.pool, Reason: is, Detail: "it was " + was + detail,
		})
	}
}

// breakerAt is one breaker: its name, where it is kept and what it goes by.
type breakerAt struct {
	name, pool string // with a pool it is that of the member name
	key, field string
	policy     BreakerPolicy
}

// find is a breaker, and the revision of the policies. Without a policy it goes by the
// first whose name matches its own (with a pool, the pool's), else by the default.
func (b *Breakers) find(name, pool, policy string) (breakerAt, int64, error) {
	at, matched := breakerAt{name: name, pool: pool, key: b.keys.breaker(name), field: fieldBreaker}, name
	if pool != "" {
		at.key, at.field, matched = b.keys.memberBreakers(pool), name, pool
	}
	revision := b.policies.revision()
	var err error
	at.policy, err = b.policies.Find(policy, matched)
	return at, revision, err
}

func (at breakerAt) in() lua.BreakerIn {
	return lua.BreakerIn{Breaker: at.key, Field: at.field, Policy: at.policy.text()}
}

// now is the time since the noun was made.
func (b *Breakers) now() time.Duration { return b.clock.Now().Sub(b.made) }
