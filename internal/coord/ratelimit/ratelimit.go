// Package ratelimit implements limits: rules and limits given in full, five algorithms,
// pauses, permits under max_concurrent, refunds and waits for slots.
//
// Its invariant: whichever sidecars ask, no period admits more under a key than the bound of
// the algorithm, and a promised slot is given to one call.
package ratelimit

import (
	"cmp"
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// PoolMembers carries out the calls that name a pool, whose members have buckets and pauses
// of their own.
type PoolMembers interface {
	Charge(ctx context.Context, c coord.Caller, p *api.RatelimitParams, peek bool) (api.RatelimitResult, error)
	Forget(ctx context.Context, c coord.Caller, p *api.RatelimitResetParams) (api.RatelimitResetResult, error)
	Answered(ctx context.Context, c coord.Caller, p *api.RatelimitReportParams) (api.RatelimitReportResult, error)
	Pause(ctx context.Context, c coord.Caller, p *api.RatelimitPauseParams) (api.RatelimitPauseResult, error)
	Resume(ctx context.Context, c coord.Caller, p *api.RatelimitResumeParams) (api.RatelimitResumeResult, error)
}

// Options are the dependencies of a Limiter.
type Options struct {
	Runner    *lua.Runner
	Keys      coord.Keys
	Rules     *Rules
	Leases    *lease.Leases // with Lines, for rules with max_concurrent; nil = no rule has it
	Lines     *lease.Lines
	Members   PoolMembers    // nil = no call names a pool
	Signals   *coord.Signals // nil = changes by other sidecars take effect within a second
	Answers   *coord.Answers // nil = its own
	Events    *coord.Events  // may be nil
	Telemetry *telemetry.Telemetry
	Clock     coord.Clock // nil = the pod's
}

// Limiter decides whether a call is admitted now, or when it may be.
//
// It continues while the sidecar drains, except for rules with max_concurrent: other
// decisions hold nothing that must be given back, and a pod that finishes its last requests
// must still keep to the limits that it shares. Drain gives back what was charged ahead.
type Limiter struct {
	runner       *lua.Runner
	keys         keys
	rules        *Rules
	leases       *lease.Leases
	lines        *lease.Lines
	members      PoolMembers
	permits      permits
	seals        *seals
	inline       inlineLimits
	tel          *telemetry.Telemetry
	events       *coord.Events
	clock        coord.Clock
	made         time.Time
	reservations *reservations
	answers      *coord.Answers
	blocks       blocks
	local        *coord.Recent[localKey, drain]
	grantIDs     grantIDs
	stats        stats
	refused      refusals
	reports      coord.Halved[api.RatelimitReportParams, api.RatelimitReportResult]
}

// noun is the name of this noun, in events for example.
const noun = "ratelimit"

// New makes a Limiter.
func New(o Options) *Limiter {
	if o.Clock == nil {
		o.Clock = coord.SystemClock{}
	}
	if o.Answers == nil {
		o.Answers = coord.NewAnswers(o.Signals)
	}
	l := &Limiter{
		runner: o.Runner, keys: keys{o.Keys}, rules: o.Rules, tel: o.Telemetry, events: o.Events,
		leases: o.Leases, lines: o.Lines, members: o.Members, permits: permits{o.Runner, keys{o.Keys}},
		seals: newSeals(o.Runner, o.Keys, o.Clock),
		clock: o.Clock, made: o.Clock.Now(),
		inline:  inlineLimits{known: make(map[inlineKey]*limit)},
		answers: o.Answers, local: coord.NewRecent[localKey, drain](), grantIDs: newGrantIDs(),
		stats: stats{rules: make(map[string]*counters)}, refused: newRefusals(o.Clock.Now()),
	}
	l.blocks = blocks{
		runner: o.Runner, answers: o.Answers, tel: o.Telemetry, now: l.now, crew: coord.NewCrew(returnCrew),
	}
	l.blocks.sweep.clock, l.blocks.sweep.now = o.Clock, l.now
	o.Rules.onChange(l.reloaded)
	if o.Signals != nil {
		o.Signals.OnForget(l.forgetLocal, func() {})
	}
	l.reservations = newReservations(o.Clock, l.giveBack)
	l.reports = l.reporting().Halved()
	return l
}

// Methods returns the methods of the noun, except those about rules: see Rules and
// RuntimeRules.
func (l *Limiter) Methods() []coord.Method {
	return []coord.Method{
		coord.OnEither(api.RatelimitAcquire, l.Acquire, l.AcquireThen, coord.Acquires, coord.Piped, limited, l.halves(false)),
		coord.On(api.RatelimitAcquireAny, l.AcquireAny, coord.Acquires, limited),
		coord.On(api.RatelimitAcquireMany, l.AcquireMany, coord.Acquires, limited),
		coord.On(api.RatelimitPeek, l.Peek, coord.Piped, limited, l.halves(true)),
		coord.On(api.RatelimitRefund, l.Refund, limited),
		coord.On(api.RatelimitDone, l.Done, limited),
		coord.On(api.RatelimitReset, l.Reset, limited),
		coord.On(api.RatelimitReport, l.Report, limited, l.reports.Direct),
		coord.On(api.RatelimitPause, l.Pause, limited),
		coord.On(api.RatelimitResume, l.Resume, limited),
		coord.On(api.RatelimitSetDelay, l.SetDelay, limited),
		coord.On(api.RatelimitExplain, l.Explain, limited),
		coord.On(api.RatelimitStats, l.Stats, limited),
	}
}

// decision is the result of a call, with what metrics need.
type decision struct {
	api.RatelimitResult
	waited time.Duration // how long the call waited; the result has whole milliseconds
}

// neverMS is the retry_after_ms of a cost that never fits.
const neverMS = -1

// The reasons of denied_by.
const (
	ReasonLimit       = "limit"       // the cost does not fit into a band
	ReasonPause       = "pause"       // the key is paused
	ReasonDelay       = "delay"       // the last admission is not long enough ago
	ReasonConcurrency = "concurrency" // max_concurrent permits are held
	ReasonDenyList    = "deny_list"   // the key is in the rule's deny list
)

// Acquire takes the cost, or returns when it may succeed. With wait_ms it takes the cost for a
// slot that comes within that time, and returns when the slot has come; a call whose ctx ends
// before gives the slot back. Cost 0 only looks.
//
// A call with the request id of one that still waits waits for the same slot.
func (l *Limiter) Acquire(ctx context.Context, c coord.Caller, p *api.RatelimitParams) (api.RatelimitResult, error) {
	switch {
	case p.Pool != "":
		return l.chargeMember(ctx, c, p, false)
	case p.WaitMS > 0:
		return coord.Await(func(done func(api.RatelimitResult, error)) { l.AcquireThen(ctx, c, p, done) })
	}
	d, err := l.decide(ctx, c, p, p.Cost == 0)
	return d.RatelimitResult, err
}

// AcquireThen is Acquire for thousands of calls that wait. It returns as soon as the call only
// has to wait; done is called before it returns, or later on another goroutine.
func (l *Limiter) AcquireThen(ctx context.Context, c coord.Caller, p *api.RatelimitParams, done func(api.RatelimitResult, error)) {
	if p.Pool != "" {
		done(l.chargeMember(ctx, c, p, false))
		return
	}
	q, d, known, err := l.open(c, p, p.Cost == 0)
	if err != nil {
		done(api.RatelimitResult{}, err)
		return
	}
	decided := func(d decision, err error) {
		d, err = l.decided(ctx, q, d, err)
		done(d.RatelimitResult, err)
	}
	wait := coord.Millis(p.WaitMS)
	switch {
	case known:
		decided(d, nil)
	case wait <= 0 || q.peek || q.lim.options.Shadow: // no call waits under a rule in shadow
		decided(l.take(ctx, q))
	default:
		l.reserve(ctx, &q, wait, decided)
	}
}

// Peek returns what Acquire would return without waiting, and takes nothing. It does not
// return a reply that is stored under its request id.
func (l *Limiter) Peek(ctx context.Context, _ coord.Caller, p *api.RatelimitParams) (api.RatelimitResult, error) {
	if p.Pool != "" {
		return l.chargeMember(ctx, coord.Caller{}, p, true)
	}
	d, err := l.decide(ctx, coord.Caller{}, p, true)
	return d.RatelimitResult, err
}

// chargeMember passes a copy of p on, so that the params of other calls do not escape to the
// heap.
func (l *Limiter) chargeMember(ctx context.Context, c coord.Caller, p *api.RatelimitParams, peek bool) (api.RatelimitResult, error) {
	own := *p
	return l.members.Charge(ctx, c, &own, peek)
}

func (l *Limiter) decide(ctx context.Context, c coord.Caller, p *api.RatelimitParams, peek bool) (decision, error) {
	q, d, known, err := l.open(c, p, peek)
	if err != nil {
		return decision{}, err
	}
	if !known {
		d, err = l.take(ctx, q)
	}
	return l.decided(ctx, q, d, err)
}

// open makes the question of a call, and answers it if that is possible without Redis.
func (l *Limiter) open(c coord.Caller, p *api.RatelimitParams, peek bool) (q question, d decision, known bool, err error) {
	t, err := l.resolve(p)
	if err != nil {
		return q, d, false, err
	}
	if err := t.lim.algorithm.checkWait(p.WaitMS); err != nil {
		return q, d, false, err
	}
	q = l.question(c, t, p, peek)
	if t.list == "" {
		if d, known = l.served(&q, p.WaitMS); known {
			return q, d, true, nil
		}
	}
	if d, known = l.unasked(&q, t.list, coord.Millis(p.WaitMS)); known {
		return q, q.withoutCharge(d), true, nil
	}
	q.address(l.keys)
	if !q.peek && q.cost > 0 && !q.lim.lean() {
		q.id = l.grantIDs.of(q.caller)
	}
	if q.lim.options.MaxConcurrent > 0 {
		q.permit = l.permitInput(q)
	}
	return q, d, false, nil
}

// decided completes a decision: under a rule in shadow a refusal becomes an admission. It
// also counts the decision.
func (l *Limiter) decided(ctx context.Context, q question, d decision, err error) (decision, error) {
	if err != nil {
		return decision{}, err
	}
	if !d.Allowed && q.lim.options.Shadow {
		d.Allowed, d.Shadow, d.RetryAfterMS = true, true, 0
	}
	l.record(ctx, q, d)
	return d, nil
}

// unasked decides a call without Redis, if it can: by a list of the rule, or by a remembered
// refusal.
func (l *Limiter) unasked(q *question, list string, wait time.Duration) (decision, bool) {
	if list != "" {
		return q.lim.listed(list), true
	}
	if q.peek || !q.lim.denyCache() {
		return decision{}, false
	}
	var known coord.Ending
	known, q.denied, q.epoch = l.answers.Get(q.lim.answerKey(q.counted))
	denied, _ := known.(denial)
	if l.answers.Repeated(q.caller.RequestID) || !q.denied {
		return decision{}, false
	}
	return denied.repeat(q.lim, q.cost, q.begun, wait)
}

// Reset deletes the state of one key, and reports whether there was any. Calls that wait for
// slots keep them.
func (l *Limiter) Reset(ctx context.Context, c coord.Caller, p *api.RatelimitResetParams) (api.RatelimitResetResult, error) {
	if p.Pool != "" {
		return l.members.Forget(ctx, c, p)
	}
	t, err := l.resolve(&api.RatelimitParams{Rule: p.Rule, Algorithm: p.Algorithm, Limits: p.Limits, Key: p.Key, Group: p.Group})
	if err != nil {
		return api.RatelimitResetResult{}, err
	}
	lim := t.lim
	state := l.keys.limit(lim.options.Name, t.counted, lim.part)
	out, err := lua.Run(ctx, l.runner, ResetScript, ResetIn{
		State: state, Channel: l.keys.Broadcast(),
	}, lua.StoredReply{})
	if err != nil {
		return api.RatelimitResetResult{}, coord.Failed("ratelimit "+lim.label()+": reset", err)
	}
	l.forget(topicReset, state)
	return api.RatelimitResetResult{Reset: out.Value}, nil
}

// now is the time since the limiter was made.
func (l *Limiter) now() time.Duration { return l.clock.Now().Sub(l.made) }

// resolve finds the limit that a call names.
func (l *Limiter) resolve(p *api.RatelimitParams) (target, error) {
	inline := p.Algorithm != "" || len(p.Limits) > 0
	switch {
	case p.Rule != "" && inline:
		return target{}, coord.Invalid("rule: given together with algorithm or limits; give the one or the other")
	case p.Rule != "":
		r, err := l.rules.find(p.Rule)
		if err != nil {
			return target{}, err
		}
		return r.of(p.Key, p.Group), nil
	case inline:
		lim, err := l.inline.find(p.Algorithm, p.Limits)
		if err != nil {
			return target{}, err
		}
		return target{lim: lim, counted: cmp.Or(p.Group, p.Key), override: -1}, nil
	default:
		return target{}, coord.Invalid("rule: missing; name a rule, or give algorithm and limits")
	}
}
