// Package breaker has circuit breakers that all sidecars share: they open after failures in a row or by the rates of
// a window, and close again after successful probes.
//
// Its invariant: while a breaker is half open, no more probes are out than its policy allows,
// and a report counts in the generation in which its call was allowed.
package breaker

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// noun is the noun of probes, events and metrics.
const noun = "breaker"

// fieldBreaker is the field of the hash of a breaker that is not a pool member's. The breakers of a pool's members
// share one hash, in which the fields are the members' names.
const fieldBreaker = "b"

// Options are the parts that the noun uses.
type Options struct {
	Runner    *lua.Runner
	Keys      coord.Keys
	Policies  *Policies
	Members   Members
	Leases    *lease.Leases
	Answers   *coord.Answers
	Events    *coord.Events // may be nil
	Telemetry *telemetry.Telemetry
	Clock     coord.Clock // nil = the pod's
}

// Breakers are circuit breakers that all sidecars share.
//
// They go on working while the sidecar drains: a pod that finishes its last requests must
// still not call a server that is down. A probe is given back when its session closes.
type Breakers struct {
	runner   *lua.Runner
	keys     keys
	policies *Policies
	members  Members
	leases   *lease.Leases
	answers  *coord.Answers
	events   *coord.Events
	tel      *telemetry.Telemetry
	clock    coord.Clock
	made     time.Time

	allows  coord.Halved[api.BreakerAllowParams, api.BreakerAllowResult]
	reports coord.Halved[api.BreakerReportParams, api.BreakerReportResult]
}

// New makes the noun.
func New(o Options) *Breakers {
	if o.Clock == nil {
		o.Clock = coord.SystemClock{}
	}
	b := &Breakers{
		runner: o.Runner, keys: keys{o.Keys}, policies: o.Policies, members: o.Members, leases: o.Leases, answers: o.Answers, events: o.Events,
		tel: o.Telemetry, clock: o.Clock, made: o.Clock.Now(),
	}
	b.allows, b.reports = b.allowing().Halved(), b.reporting().Halved()
	return b
}

// Methods returns the methods of the noun.
func (b *Breakers) Methods() []coord.Method {
	byName := coord.NamedBy(func(params reflect.Type) coord.Naming {
		return coord.InPool(params, coord.NamingBy(params, noun, "name"))
	})
	return []coord.Method{
		coord.On(api.BreakerAllow, b.Allow, coord.Acquires, coord.Piped, byName, b.allows.Direct),
		coord.On(api.BreakerReport, b.Report, coord.Piped, byName, b.reports.Direct),
		coord.On(api.BreakerGet, b.Get, byName),
		coord.On(api.BreakerList, b.List),
		coord.On(api.BreakerExplain, b.Explain, byName),
		coord.On(api.BreakerReset, b.Reset, byName),
		coord.On(api.BreakerForce, b.Force, byName),
	}
}

// shut is a refusal of an open breaker, kept to answer the next calls.
type shut struct {
	key     string
	at      time.Duration // when its call was asked, on the noun's clock
	retryUS int64         // -1 = it is forced open
	result  api.BreakerAllowResult
}

func (s shut) About() string { return s.key }
func (s shut) Ends() time.Duration {
	if s.retryUS < 0 {
		return s.at + coord.MaxCached
	}
	return s.at + min(time.Duration(s.retryUS)*time.Microsecond, coord.MaxCached)
}

// repeat returns the refusal as of now; false if Redis has to be asked.
func (s shut) repeat(now time.Duration) (api.BreakerAllowResult, bool) {
	r := s.result
	r.Source = coord.SourceCache
	if s.retryUS >= 0 {
		r.RetryAfterMS = coord.RoundUp(time.Duration(s.retryUS)*time.Microsecond - (now - s.at)).Milliseconds()
	}
	return r, now < s.Ends()
}

// Allow decides whether a call may be made. While the breaker is half open, an allowed call is a probe, which the
// caller's session holds until its outcome is reported or the policy's probe_ttl_ms is over. If Redis does not reply,
// the fail mode decides: that of the call, or else that of the policy.
//
// A call with a repeated request id returns what became of the probe of the first call.
func (b *Breakers) Allow(ctx context.Context, c coord.Caller, p *api.BreakerAllowParams) (api.BreakerAllowResult, error) {
	return b.allows.Run(ctx, c, p)
}

// question is the state of a call of Allow until it is answered.
type question struct {
	caller coord.Caller
	at     address
	mode   coord.FailMode
	probe  string        // the id of its probe, if it becomes one
	begun  time.Duration // on the noun's clock
	id     coord.AnswerKey
	epoch  uint64 // of answers, when the call was asked
}

func (b *Breakers) allowing() coord.Single[api.BreakerAllowParams, AllowIn, AllowOut, api.BreakerAllowResult, question] {
	return coord.Single[api.BreakerAllowParams, AllowIn, AllowOut, api.BreakerAllowResult, question]{
		Runner: b.runner, Script: AllowScript, Ask: b.ask, Answer: b.answered,
	}
}

// ask prepares the script of a call, or returns a refusal of a moment ago.
func (b *Breakers) ask(
	c coord.Caller, p *api.BreakerAllowParams, q *question,
) (ask coord.Question[AllowIn], _ coord.Prepared, _ api.BreakerAllowResult, _ error) {
	at, revision, err := b.find(p.Name, p.Pool, p.Policy)
	if err != nil {
		return ask, coord.Known, api.BreakerAllowResult{}, err
	}
	*q = question{
		caller: c, at: at, mode: coord.FailMode(p.FailMode).Or(coord.FailMode(at.policy.FailMode)), begun: b.now(),
		id: coord.AnswerKey{Kind: noun, Name: p.Name, Key: p.Pool, Terms: at.policy.Name, Revision: revision},
	}
	var known coord.Ending
	known, _, q.epoch = b.answers.Get(q.id)
	repeated := b.answers.Repeated(c.RequestID)
	if s, ok := known.(shut); ok && !repeated {
		if r, ok := s.repeat(q.begun); ok {
			b.tel.BreakerDecided(context.Background(), r.State)
			return ask, coord.Known, r, nil
		}
	}
	q.probe = lease.MakeToken(c, noun, at.pool+"/"+at.name)
	ask.In = AllowIn{In: at.in(), Probe: q.probe, Session: c.SessionID()}
	ask.StoredReply, ask.Patience = coord.StoredReply(at.key, c), q.mode.Patience(c)
	return ask, coord.Asking, api.BreakerAllowResult{}, nil
}

// answered returns what Redis decided. What needs another step is in the Rest that it returns: the fail mode's
// decision after an error, giving a probe back, or finding out what became of it.
func (b *Breakers) answered(
	ctx context.Context, q *question, out lua.Outcome[AllowOut], err error,
) (api.BreakerAllowResult, coord.Rest[api.BreakerAllowResult], error) {
	if err != nil {
		return api.BreakerAllowResult{}, b.failed(q, err), nil
	}
	v := out.Value
	r := api.BreakerAllowResult{
		Allowed: v.Allowed, State: v.State, Generation: v.Generation, RetryAfterMS: coord.WaitMS(v.RetryUS),
		Source: coord.SourceRedis, Replayed: out.Replayed,
	}
	if v.Probe {
		r.Probe = q.probe
		if out.Replayed {
			return r, b.replayed(q, r), nil
		}
		b.changed(ctx, q.at, v.Was, v.State, "")
		x := b.lease(q.caller, q.at, q.probe)
		if over := ctx.Err(); over != nil || x.Session != nil && !b.leases.Bind(x, out.Sent) {
			return r, b.unused(x, over), nil
		}
	}
	b.tel.BreakerDecided(ctx, decided(r))
	if !r.Allowed && !r.Replayed && r.State != api.BreakerHalfOpen {
		b.answers.Put(q.id, shut{q.at.key, q.begun, v.RetryUS, r}, q.epoch)
	}
	return r, nil, nil
}

// failed deals with a probe that may be out after a failure, and answers by the fail mode.
func (b *Breakers) failed(q *question, err error) coord.Rest[api.BreakerAllowResult] {
	return func(ctx context.Context) (api.BreakerAllowResult, error) {
		b.unsure(ctx, q.caller, b.lease(q.caller, q.at, q.probe), q.mode, err)
		return b.unanswered(ctx, q.at, q.mode, err)
	}
}

// replayed answers a repeated request id whose first call was allowed as a probe.
func (b *Breakers) replayed(q *question, r api.BreakerAllowResult) coord.Rest[api.BreakerAllowResult] {
	return func(ctx context.Context) (api.BreakerAllowResult, error) {
		r, err := b.replay(ctx, q.caller, b.lease(q.caller, q.at, q.probe), q.at, r)
		if coord.Unanswered(ctx, err) {
			r, err = b.unanswered(ctx, q.at, q.mode, err)
		}
		return r, err
	}
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

// unanswered answers by the fail mode in place of a script that failed.
func (b *Breakers) unanswered(ctx context.Context, at address, mode coord.FailMode, err error) (api.BreakerAllowResult, error) {
	e := coord.Failed("breaker "+at.name+": allow", err)
	if !coord.Unanswered(ctx, err) {
		return api.BreakerAllowResult{}, e
	}
	if b.events.Wanted() {
		b.events.Publish(coord.Event{Kind: coord.EventDegraded, Noun: noun, Name: at.name, Key: at.pool, Reason: string(mode)})
	}
	if mode == coord.FailClosed {
		b.tel.BreakerDecided(ctx, "unavailable")
		return api.BreakerAllowResult{}, e
	}
	b.tel.BreakerDecided(ctx, "degraded_allowed")
	return api.BreakerAllowResult{
		Allowed: true, State: api.BreakerClosed, Degraded: true, MaybeExecuted: e.MaybeExecuted, Source: coord.SourceLocal,
	}, nil
}

// Report counts the outcome of a call, which any session may have made. The report of a probe has a deadline of its
// own: it goes on when its caller is gone.
func (b *Breakers) Report(ctx context.Context, c coord.Caller, p *api.BreakerReportParams) (api.BreakerReportResult, error) {
	return b.reports.Run(ctx, c, p)
}

// reported is what an answer of Report needs of its call.
type reported struct {
	at    address
	probe bool // the call was a probe
}

func (b *Breakers) reporting() lease.Giving[api.BreakerReportParams, ReportIn, ReportOut, api.BreakerReportResult, reported] {
	return lease.Giving[api.BreakerReportParams, ReportIn, ReportOut, api.BreakerReportResult, reported]{
		Verb: "report", Leases: b.leases, Runner: b.runner, Script: ReportScript, Ask: b.report, Answer: b.reported,
	}
}

func (b *Breakers) report(c coord.Caller, p *api.BreakerReportParams, k *reported) (id lease.ID, ask coord.Question[ReportIn], err error) {
	if k.at, _, err = b.find(p.Name, p.Pool, p.Policy); err != nil {
		return id, ask, err
	}
	k.probe = p.Probe != ""
	ask.StoredReply, ask.In = coord.StoredReply(k.at.key, c), ReportIn{
		In: k.at.in(), Generation: p.Generation, Probe: p.Probe, Outcome: p.Outcome,
		DurationUS: coord.Millis(p.DurationMS).Microseconds(), Channel: b.keys.Broadcast(),
	}
	return lease.ID{Noun: noun, Name: p.Name, Token: p.Probe}, ask, nil
}

func (b *Breakers) reported(
	ctx context.Context, k *reported, out lua.Outcome[ReportOut],
) (api.BreakerReportResult, coord.Rest[api.BreakerReportResult]) {
	v, at := out.Value, k.at
	r := api.BreakerReportResult{
		State: v.State, Generation: v.Generation, Counted: v.Counted, Changed: v.Was != v.State, Replayed: out.Replayed,
	}
	if r.Changed && !out.Replayed {
		b.answers.Forget(at.key)
		detail := ""
		if v.OpenUS > 0 {
			detail = fmt.Sprintf("for %v", coord.CeilMS(v.OpenUS))
		}
		b.changed(ctx, at, v.Was, v.State, detail)
	}
	if at.pool == "" || !r.Changed && !k.probe {
		return r, nil
	}
	return r, func(ctx context.Context) (api.BreakerReportResult, error) {
		// The outcome is counted already; Members.Touched describes what comes later if this fails.
		_ = b.touched(ctx, at)
		return r, nil
	}
}

// changed reports a change of state that this sidecar made, as a metric and an event.
func (b *Breakers) changed(ctx context.Context, at address, was, is, detail string) {
	if was == is {
		return
	}
	b.tel.BreakerChanged(ctx, was, is)
	if b.events.Wanted() {
		if detail != "" {
			detail = ", " + detail
		}
		b.events.Publish(coord.Event{
			Kind: coord.EventBreaker, Noun: noun, Name: at.name, Key: at.pool, Reason: is, Detail: "it was " + was + detail,
		})
	}
}

// address identifies one breaker: its name, the key and the field where it is stored, and its policy.
type address struct {
	name, pool string // with a pool, it is the breaker of the member name
	key, field string
	policy     Policy
}

// find returns the address of a breaker, and the revision of the policies. If policy is empty, the breaker's policy
// is the first whose name matches the breaker's (with a pool, the pool's), or else the default.
func (b *Breakers) find(name, pool, policy string) (address, int64, error) {
	at, matched := address{name: name, pool: pool, key: b.keys.breaker(name), field: fieldBreaker}, name
	if pool != "" {
		at.key, at.field, matched = b.keys.MemberBreakers(pool), name, pool
	}
	revision := b.policies.revision()
	var err error
	at.policy, err = b.policies.Find(policy, matched)
	return at, revision, err
}

func (at address) in() In {
	return In{Breaker: at.key, Field: at.field, Policy: at.policy.text()}
}

// now is the time since the noun was made.
func (b *Breakers) now() time.Duration { return b.clock.Now().Sub(b.made) }
