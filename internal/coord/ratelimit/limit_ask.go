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

// question is a call and what its script needs.
type question struct {
	lim     *limit
	caller  coord.Caller
	key     string // as the caller wrote it
	counted string // the key or group that its state is kept under
	tag     string // the hash tag of all its Redis keys
	state   string // the Redis key of its algorithm's state
	pace    string // the Redis key of its pace
	stored  lua.StoredReply
	id      string // of the grant; empty until it is needed
	cost    int64
	peek    bool
	wait    int64 // us
	permit  Permit
	mode    coord.FailMode
	begun   time.Duration // on the limiter's clock
	epoch   uint64        // the epoch of the remembered answers at that time
	// denied: a refusal of the key is remembered. It is dropped when this call is admitted,
	// since the wait that it states is then too short.
	denied bool
	ahead  ahead // the block that it charges beside its cost, in mode leased
}

// question makes the question of a call, without its Redis keys. A rule in shadow refuses
// nothing, so that its fail mode closed becomes open.
func (l *Limiter) question(c coord.Caller, t target, p *api.RatelimitParams, peek bool) question {
	mode := coord.FailMode(p.FailMode).Or(t.lim.failMode())
	if t.lim.options.Shadow && mode == coord.FailClosed {
		mode = coord.FailOpen
	}
	return question{
		lim: t.lim, caller: c, key: p.Key, counted: t.counted, cost: p.Cost, peek: peek, mode: mode, begun: l.now(),
	}
}

// address sets the Redis keys.
func (q *question) address(k keys) {
	q.state = k.limit(q.lim.options.Name, q.counted, q.lim.part)
	q.tag, _, _ = k.Split(q.state)
	q.pace = k.pace(q.tag)
	q.stored = coord.StoredReply(q.state, q.caller)
}

type answer = lua.Outcome[Out]

// ask runs the script that decides; if that fails, the fail mode decides.
func (l *Limiter) ask(ctx context.Context, q question) (decision, answer, error) {
	out, err := l.charge(ctx, q)
	return l.answered(ctx, q, out, err)
}

// answered turns the result or the failure of a script into a decision.
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
	// A peek changes nothing: it does not matter whether it has run.
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
	d := l.decideLocally(q)
	d.MaybeExecuted = e.MaybeExecuted
	return d, nil
}

// charge runs the script of the call: the one that charges ahead, the lean one, or the
// general one of the algorithm. All of them use the same state.
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

// leanCharge is the input of the lean script.
func (q *question) leanCharge() TokenBucketIn {
	lim, b := q.lim, q.lim.bands[0]
	return TokenBucketIn{
		State: q.state, Pace: q.pace, Cost: q.cost, Peek: q.peek, WaitUS: q.wait,
		Revision: lim.revision, Signature: lim.signature, Capacity: b.Capacity, L: b.L, P: b.P,
	}
}

// charge is the input of an algorithm's general script.
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

// run runs a script for a call. A call that waits outlives its context: see outlive.
func run[I, O any](ctx context.Context, r *lua.Runner, s lua.Script[I, O], in I, q question) (lua.Outcome[O], error) {
	if q.wait > 0 {
		var done context.CancelFunc
		ctx, done = outlive(ctx, lease.GiveBackTime)
		defer done()
	}
	return lua.RunAs(ctx, r, s, in, q.stored, q.patience())
}

// outlive returns a context that ends some time after ctx. A call may end while Redis
// promises its slot: the reply must still be read, or the slot could not be given back.
func outlive(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var late *time.Timer
	if end, ok := ctx.Deadline(); ok {
		late = time.AfterFunc(time.Until(end)+by, cancel)
	}
	stop := coord.OnEnd(ctx, func() {
		ended := time.AfterFunc(by, cancel)
		context.AfterFunc(longer, func() { ended.Stop() })
	})
	return longer, func() {
		stop()
		cancel()
		if late != nil {
			late.Stop()
		}
	}
}

// decision turns a script's answer into the result of a call. Waits are rounded up, so that
// a caller that sleeps exactly that long and asks again is not too early.
func (l *limit) decision(o coord.LimitAnswer, replayed bool) (decision, error) {
	s, err := l.sizes.by(o.Newer)
	if err != nil {
		return decision{}, err
	}
	if replayed {
		o.Band = min(o.Band, int64(len(s.bands))) // the rule may have had more bands when the reply was stored
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
		// The call is answered when its slot comes; by then the usage has drained to the capacity.
		d.Current = min(d.Current, s.bands[o.Band-1].Capacity)
	}
	if d.Allowed {
		return d, nil
	}
	d.DeniedBy, d.RetryAfterMS = o.Denied, coord.WaitMS(o.RetryAfterUS)
	return d, nil
}
