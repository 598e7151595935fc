// Package ratelimit is limits: rules and limits given in full, five algorithms, pauses,
// places under max_concurrent, refunds and waits for slots.
//
// Its invariant: in no period is more admitted under a key than the bound of the algorithm
// says (Algorithm), whichever sidecars ask; and a promised slot is given to one call.
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

// PoolMembers carries out the calls that name a pool: its members have buckets and
// pauses of their own.
type PoolMembers interface {
	Charge(ctx context.Context, c coord.Caller, p *api.RatelimitParams, peek bool) (api.RatelimitResult, error)
	Forget(ctx context.Context, c coord.Caller, p *api.RatelimitResetParams) (api.RatelimitResetResult, error)
	Answered(ctx context.Context, c coord.Caller, p *api.RatelimitReportParams) (api.RatelimitReportResult, error)
	Pause(ctx context.Context, c coord.Caller, p *api.RatelimitPauseParams) (api.RatelimitPauseResult, error)
	Resume(ctx context.Context, c coord.Caller, p *api.RatelimitResumeParams) (api.RatelimitResumeResult, error)
}

// Options are what the noun is made of.
type Options struct {
	Runner    *lua.Runner
	Keys      coord.Keys
	Rules     *Rules
	Leases    *lease.Leases // with Lines, for rules with max_concurrent; nil where there are none
	Lines     *lease.Lines
	Members   PoolMembers    // nil where no call names a pool
	Signals   *coord.Signals // nil: what happens in other sidecars is seen within a second
	Answers   *coord.Answers // nil = its own
	Events    *coord.Events  // may be nil
	Telemetry *telemetry.Telemetry
	Clock     coord.Clock // nil = the pod's
}

// Limiter decides whether a call may go now, or when.
//
// It goes on while the sidecar drains, but for rules with max_concurrent: a
// decision holds nothing that would have to be given back, and a pod that
// finishes its last requests must still keep to the limits it shares. What it
// charged ahead is given back by Drain.
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

// noun is the noun of events.
const noun = "ratelimit"

// New makes the noun.
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

// Methods are those of the noun, but for those of its rules: see RuntimeRules.
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

// decision is an answer on its way.
type decision struct {
	api.RatelimitResult
	waited time.Duration // for the slot; the result has whole milliseconds of it
}

// neverMS is the retry_after_ms of a cost that never fits.
const neverMS = -1

// The reasons of denied_by.
const (
	ReasonLimit       = "limit"       // a band is used up
	ReasonPause       = "pause"       // the key is paused
	ReasonDelay       = "delay"       // the last admission was too short a time ago
	ReasonConcurrency = "concurrency" // max_concurrent grants are held
	ReasonDenyList    = "deny_list"   // the rule refuses the key
)

// Acquire takes the cost, or says when it may succeed. With wait_ms it takes it at a
// slot that is near enough, and returns when that comes; a call whose ctx ends
// before gives the slot back. Cost 0 only looks.
//
// A repeated request id takes over the waiting of the call before it.
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

// AcquireThen is Acquire for thousands of callers that wait: it returns when there
// is nothing to do but wait, and done is called before, or later on another goroutine.
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
	case wait <= 0 || q.peek || q.lim.options.Shadow: // a rule in shadow has nobody wait
		decided(l.take(ctx, q))
	default:
		l.reserve(ctx, &q, wait, decided)
	}
}

// Peek answers what Acquire would without waiting, and takes nothing. It answers no
// reply that is stored under its request id.
func (l *Limiter) Peek(ctx context.Context, _ coord.Caller, p *api.RatelimitParams) (api.RatelimitResult, error) {
	if p.Pool != "" {
		return l.chargeMember(ctx, coord.Caller{}, p, true)
	}
	d, err := l.decide(ctx, coord.Caller{}, p, true)
	return d.RatelimitResult, err
}

// chargeMember hands on a copy of p, so that params of other calls need not be on the
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

// open makes a question of a call, and answers it if that takes no Redis.
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

// decided completes the answer to a caller: a rule in shadow refuses nothing.
func (l *Limiter) decided(ctx context.Context, q question, d decision, err error) (decision, error) {
	if err != nil {
		return decision{}, err
	}
	if !d.Allowed && q.lim.options.Shadow {
		d.Allowed, d.Shadow, d.RetryAfterMS = true, true, 0
	}
	l.tell(ctx, q, d)
	return d, nil
}

// unasked is what is decided without Redis: by a list of the rule, or as a
// moment ago.
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

// Reset forgets the state of one key and reports whether there was any. Slots
// that were promised stay so to those who wait for them.
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
