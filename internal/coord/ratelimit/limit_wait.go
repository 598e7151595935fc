package ratelimit

import (
	"context"
	"math"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// answerTime is how long an answer takes to reach the caller: a slot that comes less than
// this before the deadline is as useless as one after it.
const answerTime = 10 * time.Millisecond

// reserve asks for a slot that is at most wait away, and calls done when the slot has come
// or the call has ended.
func (l *Limiter) reserve(ctx context.Context, q *question, wait time.Duration, done func(decision, error)) {
	if q.id == "" {
		q.id = l.grantIDs.of(q.caller)
	}
	need := q.cost
	if q.takesPermit() {
		need = math.MaxInt64 // no other slot is enough: its permit has the id of its own charge
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
			l.answers.Forget(q.state) // more is free than remembered refusals state
		}
		done(d, err)
	}
	if d, known := l.reservations.promised(x); known {
		coord.PassOn(ctx)
		d.Replayed = true
		if d, err = l.keepPermitOfSlot(ctx, *q, x, d, answer{Replayed: true}); err != nil || !d.Allowed {
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
		end(l.keepPermit(ctx, *q, d, out))
		return
	}
	comes, err := l.promise(ctx, *q, x, d, out)
	if err != nil {
		end(l.unanswered(ctx, *q, err))
		return
	}
	switch d, err = l.keepPermitOfSlot(ctx, *q, x, d, out); {
	case err != nil || !d.Allowed:
		end(d, err)
	case !comes:
		end(l.confirm(ctx, *q, d, out.Value.RetryAfterUS), nil)
	default:
		l.sleep(ctx, q, x, d, end)
	}
}

// keepPermitOfSlot is keepPermit for a slot that has not come: the last call of the
// reservation to leave releases the permit together with the slot.
func (l *Limiter) keepPermitOfSlot(ctx context.Context, q question, x *reservation, d decision, out answer) (decision, error) {
	text, tag, session := d.Grant, q.tag, q.caller.Session
	d, err := l.keepPermit(ctx, q, d, out)
	if err == nil && d.Held {
		l.reservations.setPermit(x, func(ctx context.Context) { l.releasePermit(ctx, tag, text, session) })
	}
	return d, err
}

// sleep waits until the slot of a reservation has come, and then answers with the decision
// that promised it.
func (l *Limiter) sleep(ctx context.Context, q *question, x *reservation, d decision, done func(decision, error)) {
	held, replayed := d.Held, d.Replayed // these differ by call; the promised decision has the rest
	l.reservations.await(ctx, x, func(s slot, err error) {
		d, _ := l.reservations.promised(x)
		d.Held, d.Replayed = held, replayed
		if err == nil && q.takesPermit() {
			d, err = l.takeOverPermit(ctx, *q, d)
		}
		if err != nil {
			done(decision{}, coord.Failed("ratelimit "+q.lim.label()+": wait", err))
			return
		}
		// The slot may come from another call that left: then that call's charge is used.
		d.Grant = grant{id: s.id, tag: q.tag, part: q.lim.part, cost: s.cost, at: s.at}.text(l.seals)
		done(l.confirm(ctx, *q, d.after(l.now()-q.begun), s.at-s.made), nil)
	})
}

// patienceUS returns how far away (us) a slot may be so that its answer is in time.
func patienceUS(ctx context.Context, wait time.Duration) int64 {
	if deadline, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(deadline)-answerTime)
	}
	return max(0, wait.Microseconds())
}

// promise files the slot that a script returned. It returns false if the slot has come
// already.
//
// The time until the slot counts from when the reply came. Counted from the sending, it
// would end too early, by the time that the request took to reach Redis.
func (l *Limiter) promise(ctx context.Context, q question, x *reservation, d decision, out answer) (bool, error) {
	o, now := out.Value, out.Value.NowUS
	s := slot{at: o.NowUS + o.RetryAfterUS, made: o.NowUS, cost: q.cost, id: q.id, borrowed: out.Replayed}
	if out.Replayed {
		// The stored reply has the time of its first run. A peek returns Redis's time now.
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

// giveBack gives a slot back to its limit in Redis.
func (l *Limiter) giveBack(ctx context.Context, bucket, stored string, s slot) (SlotState, error) {
	pace, algorithm := l.keys.ofState(bucket)
	out, err := lua.Run(ctx, l.runner, GiveBackScript, GiveBackIn{
		State: bucket, Pace: pace, StoredReply: stored,
		Algorithm: algorithm, ID: s.id, Cost: s.cost, SlotUS: s.at, PromisedUS: s.made,
	}, lua.StoredReply{})
	return out.Value, err
}

// after is the decision as it is answered once its slot has come.
func (d decision) after(waited time.Duration) decision {
	d.waited, d.WaitedMS = waited, waited.Milliseconds()
	d.ResetAfterMS = max(0, d.ResetAfterMS-d.WaitedMS)
	return d
}
