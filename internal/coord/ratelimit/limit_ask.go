package ratelimit

import (
	"context"
	"fmt"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// question is a call on its way to a script.
type question struct {
	lim     *limit
	caller  coord.Caller
	key     string // as the caller wrote it
	counted string // what its state is kept under
	tag     string // of all its keys in Redis
	state   string // the one of its algorithm
	pace    string // the one beside it
	stored  lua.StoredReply
	id      string // of the grant; empty until it is wanted
	cost    int64
	peek    bool
	wait    int64 // us
	permit  Permit
	mode    coord.FailMode
	begun   time.Duration // on the limiter's clock
	epoch   uint64        // of the answers, then
	// denied: a refusal is remembered, whose wait is longer once this is let through.
	denied bool
	ahead  ahead // what it charges beside its cost, in mode leased
}

// question is what is known of a call before Redis is named. A rule in shadow
// refuses nothing while Redis is away either.
func (l *Limiter) question(c coord.Caller, t target, p *api.RatelimitParams, peek bool) question {
	mode := coord.FailMode(p.FailMode).Or(t.lim.failMode())
	if t.lim.options.Shadow && mode == coord.FailClosed {
		mode = coord.FailOpen
	}
	return question{
		lim: t.lim, caller: c, key: p.Key, counted: t.counted, cost: p.Cost, peek: peek, mode: mode, begun: l.now(),
	}
}

// address builds the keys.
func (q *question) address(k keys) {
	q.state = k.limit(q.lim.options.Name, q.counted, q.lim.part)
	q.tag, _, _ = k.Split(q.state)
	q.pace = k.pace(q.tag)
	q.stored = coord.StoredReply(q.state, q.caller)
}

type answer = lua.Outcome[Out]

// ask has a script decide, or else the fail mode.
func (l *Limiter) ask(ctx context.Context, q question) (decision, answer, error) {
	out, err := l.charge(ctx, q)
	return l.answered(ctx, q, out, err)
}

// answered makes a decision of a script's answer, or of its failure.
func (l *Limiter) answered(ctx context.Context, q question, out answer, err error) (decision, answer, error) {
	if err != nil {
		if q.ahead.of != nil && coord.Unanswered(ctx, err) {
			if d, ok := q.ahead.of.serveLeft(q.cost, l.now()); ok {
				return d, answer{}, nil
			}
		}
		d, err := l.unanswered(ctx, q, err)
		return d, answer{}, err
	}
	d, err := q.lim.decision(out.Value.LimitAnswer, out.Replayed)
	switch {
	case err != nil:
		return decision{}, out, coord.Failed("ratelimit "+q.lim.label()+": reply", err)
	case d.Allowed && q.cost > 0 && (!q.peek || d.Replayed):
		d.Grant = l.granted(q, out)
	}
	switch {
	case q.peek:
	case !d.Allowed && q.lim.denyCache() && d.DeniedBy != ReasonConcurrency:
		l.answers.Put(q.lim.answerKey(q.counted), denial{
			state: q.state, cost: q.cost, at: q.begun,
			retryUS: out.Value.RetryAfterUS, resetUS: out.Value.ResetAfterUS, decision: d,
			newer: out.Value.Newer != "",
		}, q.epoch)
	case d.Allowed:
		if q.denied {
			l.answers.Drop(q.lim.answerKey(q.counted))
		}
		if q.mode == coord.FailLocal && !d.Replayed {
			l.keepWarm(q)
		}
	}
	if q.lim.leased != nil && !q.peek && !d.Allowed {
		d = l.refusedAhead(q, d)
	}
	return d, out, nil
}

// unanswered answers by the fail mode in place of a script that failed.
func (l *Limiter) unanswered(ctx context.Context, q question, err error) (decision, error) {
	e := coord.Failed("ratelimit "+q.lim.label()+": acquire", err)
	// Looking changes nothing, so that nothing was executed.
	e.MaybeExecuted = e.MaybeExecuted && !q.peek
	if !coord.Unanswered(ctx, err) {
		return decision{}, e
	}
	if !q.peek && l.events.Wanted() {
		l.events.Publish(coord.Event{Kind: coord.EventDegraded, Noun: noun, Name: q.lim.options.Name, Key: q.key, Reason: string(q.mode)})
	}
	if q.mode == coord.FailClosed {
		if !q.peek {
			l.stats.Failed(q.lim.label())
			l.tel.Degraded(ctx, q.lim.label(), "unavailable")
		}
		return decision{}, e
	}
	d := l.stand(q)
	d.MaybeExecuted = e.MaybeExecuted
	return d, nil
}

// charge runs the lean script where there is one, on the same state.
func (l *Limiter) charge(ctx context.Context, q question) (answer, error) {
	lim := q.lim
	if q.cost > 0 {
		if err := l.seals.ready(ctx, q.mode == coord.FailClosed); err != nil {
			q.ahead.forgo()
			return answer{}, err
		}
	}
	if q.ahead.of != nil {
		return q.chargedAhead(run(ctx, l.runner, *lim.algorithm.lease, q.block(), q))
	}
	if lim.lean() {
		out, err := run(ctx, l.runner, TokenBucketScript, q.leanCharge(), q)
		return leanAnswer(out), err
	}
	return run(ctx, l.runner, lim.algorithm.script, q.charge(), q)
}

// leanCharge is the input of the lean script, and charge that of all others.
func (q *question) leanCharge() TokenBucketIn {
	lim, b := q.lim, q.lim.bands[0]
	return TokenBucketIn{
		State: q.state, Pace: q.pace, Cost: q.cost, Peek: q.peek, WaitUS: q.wait,
		Revision: lim.revision, Signature: lim.signature, Capacity: b.Capacity, L: b.L, P: b.P,
	}
}

func (q *question) charge() In {
	charge := Charge{Cost: q.cost, WaitUS: q.wait, Revision: q.lim.revision, Signature: q.lim.signature, ID: q.id}
	if q.peek {
		charge.Peek = PeekOn
	}
	return In{State: q.state, Pace: q.pace, Charge: charge, Permit: q.permit}
}

func leanAnswer(out lua.Outcome[coord.LimitAnswer]) answer {
	return answer{Value: Out{LimitAnswer: out.Value}, Replayed: out.Replayed, Sent: out.Sent}
}

// run executes a script for a call.
func run[I, O any](ctx context.Context, r *lua.Runner, s lua.Script[I, O], in I, q question) (lua.Outcome[O], error) {
	if q.wait > 0 {
		var done context.CancelFunc
		ctx, done = outlive(ctx, lease.GiveBackTime)
		defer done()
	}
	return lua.RunAs(ctx, r, s, in, q.stored, q.patience())
}

// outlive is a context that ends only some time after ctx: who leaves while its
// slot is being promised has to learn of it, or nobody could give it back.
func outlive(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var late *time.Timer
	if end, ok := ctx.Deadline(); ok {
		late = time.AfterFunc(time.Until(end)+by, cancel)
	}
	deaf := coord.HearEnd(ctx, func() {
		ended := time.AfterFunc(by, cancel)
		context.AfterFunc(longer, func() { ended.Stop() })
	})
	return longer, func() {
		deaf()
		cancel()
		if late != nil {
			late.Stop()
		}
	}
}

// decision puts a script's answer into the rule's words. Waits are rounded up,
// so that who sleeps exactly that long and asks again is not a moment early.
func (l *limit) decision(o coord.LimitAnswer, replayed bool) (decision, error) {
	s, err := l.sizes.by(o.Newer)
	if err != nil {
		return decision{}, err
	}
	if replayed {
		o.Band = min(o.Band, int64(len(s.bands))) // the rule had more then
	}
	if o.Band < 1 || o.Band > int64(len(s.bands)) {
		return decision{}, fmt.Errorf("band %d of %d", o.Band, len(s.bands))
	}
	d := decision{RatelimitResult: api.RatelimitResult{
		Allowed: o.Admitted() || o.Reserved(), Rule: l.options.Name, Algorithm: l.algorithm.name,
		Band: s.names[o.Band-1], Limit: s.limits[o.Band-1], Remaining: o.Remaining, Current: o.Current,
		ResetAfterMS: coord.WaitMS(o.ResetAfterUS), ResetAtMS: coord.InstantMS(o.NowUS + o.ResetAfterUS),
		Replayed: replayed, Source: coord.SourceRedis,
	}}
	if o.Reserved() {
		// When the slot comes, the debt has drained down to it.
		d.Current = min(d.Current, s.bands[o.Band-1].Capacity)
	}
	if d.Allowed {
		return d, nil
	}
	d.DeniedBy, d.RetryAfterMS = o.Denied, coord.WaitMS(o.RetryAfterUS)
	return d, nil
}
