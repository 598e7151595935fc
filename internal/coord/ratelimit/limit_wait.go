package ratelimit

import (
	"context"
	"math"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// answerTime is what an answer needs for its way: a slot that is nearer to the
// deadline is as good as one after it.
const answerTime = 10 * time.Millisecond

// reserve asks for a slot that is at most wait away, and goes on when it comes.
func (l *Limiter) reserve(ctx context.Context, q *question, wait time.Duration, done func(decision, error)) {
	if q.id == "" {
		q.id = l.grantIDs.of(q.caller)
	}
	need := q.cost
	if q.seated() {
		need = math.MaxInt64 // its place has the id of its own charge
	}
	x, err := l.reservations.enter(ctx, q.state, q.stored, need)
	switch {
	case err != nil:
		done(decision{}, coord.Failed("ratelimit "+q.lim.label()+": wait for an earlier call", err))
		return
	case x == nil:
		done(l.take(ctx, *q))
		return
	}
	end := func(d decision, err error) {
		if l.reservations.leave(ctx, x) {
			l.answers.Forget(q.state) // there is more than was told
		}
		done(d, err)
	}
	if d, known := l.reservations.promised(x); known {
		coord.PassOn(ctx)
		d.Replayed = true
		if d, err = l.sit(ctx, *q, x, d, answer{Replayed: true}); err != nil || !d.Allowed {
			end(d, err)
			return
		}
		l.sleep(ctx, q, x, d, end)
		return
	}
	q.wait = patienceUS(ctx, wait)
	l.inTurn(ctx, q, wait, func(d decision, out answer, err error) { l.reserved(ctx, q, x, d, out, err, end) })
}

// reserved goes on with the answer to a call that may wait for a slot.
func (l *Limiter) reserved(
	ctx context.Context, q *question, x *reservation, d decision, out answer, err error, end func(decision, error),
) {
	if err != nil {
		end(d, err)
		return
	}
	if !out.Value.Reserved() {
		end(l.keepSeat(ctx, *q, d, out))
		return
	}
	comes, err := l.promise(ctx, *q, x, d, out)
	if err != nil {
		end(l.unanswered(ctx, *q, err))
		return
	}
	switch d, err = l.sit(ctx, *q, x, d, out); {
	case err != nil || !d.Allowed:
		end(d, err)
	case !comes:
		end(l.confirm(ctx, *q, d, out.Value.RetryAfterUS), nil)
	default:
		l.sleep(ctx, q, x, d, end)
	}
}

// sit is keepSeat for a slot that has not come: the place goes with it, whichever
// of its callers leaves last.
func (l *Limiter) sit(ctx context.Context, q question, x *reservation, d decision, out answer) (decision, error) {
	text, tag, session := d.Grant, q.tag, q.caller.Session
	d, err := l.keepSeat(ctx, q, d, out)
	if err == nil && d.Held {
		l.reservations.seated(x, func(ctx context.Context) { l.leaveSeat(ctx, tag, text, session) })
	}
	return d, err
}

// sleep goes on when the slot of a reservation has come, with what it was told.
func (l *Limiter) sleep(ctx context.Context, q *question, x *reservation, d decision, done func(decision, error)) {
	held, replayed := d.Held, d.Replayed // what the promise does not know; it has the rest already
	l.reservations.await(ctx, x, func(s slot, err error) {
		d, _ := l.reservations.promised(x)
		d.Held, d.Replayed = held, replayed
		if err == nil && q.seated() {
			d, err = l.reseat(ctx, *q, d)
		}
		if err != nil {
			done(decision{}, coord.Failed("ratelimit "+q.lim.label()+": wait", err))
			return
		}
		// The slot may be another call's that left: its charge is what is used.
		d.Grant = grant{id: s.id, tag: q.tag, part: q.lim.part, cost: s.cost, at: s.at}.text(l.seals)
		done(l.confirm(ctx, *q, d.after(l.now()-q.begun), s.at-s.made), nil)
	})
}

// patienceUS is how far away a slot may be so that its answer is in time.
func patienceUS(ctx context.Context, wait time.Duration) int64 {
	if deadline, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(deadline)-answerTime)
	}
	return max(0, wait.Microseconds())
}

// promise files the slot that a script told of; false when it has come already.
//
// The time until the slot counts from when the answer came. From the sending it
// would end early, by what the call was on its way to the script.
func (l *Limiter) promise(ctx context.Context, q question, x *reservation, d decision, out answer) (bool, error) {
	o, now := out.Value, out.Value.NowUS
	s := slot{at: o.NowUS + o.RetryAfterUS, made: o.NowUS, cost: q.cost, id: q.id, borrowed: out.Replayed}
	if out.Replayed {
		// The stored reply keeps what was told then. How late it is now, one more look says.
		q.peek, q.cost, q.stored = true, 0, lua.StoredReply{}
		look, err := l.charge(ctx, q)
		if err != nil {
			return false, err
		}
		if now = look.Value.NowUS; now >= s.at {
			return false, nil
		}
	}
	s.due = l.clock.Now().Add(time.Duration(s.at-now) * time.Microsecond)
	l.reservations.promise(x, s, d)
	return true, nil
}

// giveBack gives a slot back to its bucket in Redis.
func (l *Limiter) giveBack(ctx context.Context, bucket, stored string, s slot) (SlotState, error) {
	gate, algorithm := l.keys.ofState(bucket)
	out, err := lua.Run(ctx, l.runner, GiveBackScript, GiveBackIn{
		State: bucket, Gate: gate, StoredReply: stored,
		Algorithm: algorithm, ID: s.id, Cost: s.cost, SlotUS: s.at, PromisedUS: s.made,
	}, lua.StoredReply{})
	return out.Value, err
}

// after is what a decision says once its slot has come.
func (d decision) after(waited time.Duration) decision {
	d.waited, d.WaitedMS = waited, waited.Milliseconds()
	d.ResetAfterMS = max(0, d.ResetAfterMS-d.WaitedMS)
	return d
}
