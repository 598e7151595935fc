package coord

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// A rule with max_concurrent gives out a place with each grant: a lease, taken in
// the same script as the cost. Who may wait stands in line for the place first;
// place and cost are then taken together, so that nobody is charged for standing
// in line, and nobody holds a place while the limit refuses it.

const (
	// holdFor is how long the place of a bound grant lives without a renewal.
	holdFor = 30 * time.Second
	// holdUnbound is how long one does that nobody renews.
	holdUnbound = time.Minute
)

// seats is how places are renewed and given back. The token of such a lease is
// the grant as text, which has all that is needed for its keys.
type seats struct {
	runner *lua.Runner
	keys   Keys
}

// renew implements leaseKind.
func (s seats) renew(ctx context.Context, due []hold) []renewal {
	ins := make([]lua.RatelimitRenewIn, len(due))
	for i, h := range due {
		ins[i] = s.renewal(h)
	}
	outs, errs := lua.Batch(ctx, s.runner, lua.RatelimitRenew, ins)
	results := make([]renewal, len(due))
	for i := range due {
		results[i] = renewal{sent: outs[i].Sent, err: errs[i]}
		switch outs[i].Value {
		case lua.SeatHeld:
			results[i].held = true
		case lua.SeatMoved:
			results[i].moved = true
		default:
			results[i].reason = ReasonExpired
		}
	}
	return results
}

// renewal is what extends a place.
func (s seats) renewal(h hold) lua.RatelimitRenewIn {
	g, _ := parseGrant(h.token) // ours
	leases, holders, _ := s.keys.seats(g.tag)
	return lua.RatelimitRenewIn{Leases: leases, Holders: holders, ID: g.id, Session: h.session, HoldMS: h.ttl.Milliseconds()}
}

// giveBack implements leaseKind.
func (s seats) giveBack(ctx context.Context, gone []hold) []error {
	if len(gone) == 1 {
		_, err := lua.Run(ctx, s.runner, lua.RatelimitDone, s.done(gone[0]), lua.Latch{})
		return []error{err}
	}
	ins := make([]lua.RatelimitDoneIn, len(gone))
	for i, h := range gone {
		ins[i] = s.done(h)
	}
	_, errs := lua.Batch(ctx, s.runner, lua.RatelimitDone, ins)
	return errs
}

// done is what gives a place back, the one in the line, or both.
func (s seats) done(h hold) lua.RatelimitDoneIn {
	in := lua.RatelimitDoneIn{Session: h.session, Waiter: h.waiter, Inboxes: s.keys.inboxes()}
	tag := h.name
	if g, err := parseGrant(h.token); err == nil {
		in.ID, tag = g.id, g.tag
	}
	in.Leases, in.Holders, in.LineKeys = s.keys.seats(tag)
	return in
}

// seat is what a caller asks of a script beside its cost.
func (l *RateLimiter) seat(q question) lua.Seat {
	s := lua.Seat{MaxConcurrent: q.lim.maxConcurrent, HoldMS: holdUnbound.Milliseconds(), Inboxes: l.keys.inboxes()}
	s.Leases, s.Holders, s.LineKeys = l.keys.seats(q.tag)
	if q.caller.Session != nil {
		id := q.caller.identity()
		s.Session, s.Client, s.Instance, s.HoldMS = q.caller.Session.ID, id.Client, id.Instance, holdFor.Milliseconds()
	}
	return s
}

// seated reports whether the call takes a place with its cost.
func (q question) seated() bool { return q.lim.maxConcurrent > 0 && !q.peek && q.cost > 0 }

// take is ask, with a place where the rule has any.
func (l *RateLimiter) take(ctx context.Context, q question) (Decision, error) {
	d, out, err := l.inTurn(ctx, q, 0)
	if err != nil {
		return d, err
	}
	return l.keepSeat(ctx, q, d, out)
}

// inTurn asks, for a place in the caller's turn if it waits. The place is to be
// kept, by keepSeat.
func (l *RateLimiter) inTurn(ctx context.Context, q question, wait time.Duration) (d Decision, out answer, err error) {
	if !q.seated() {
		return l.ask(ctx, q)
	}
	if err := l.leases.admit("ratelimit " + q.lim.label() + ": acquire"); err != nil {
		return Decision{}, answer{}, err
	}
	waiter, limit, end := "", time.Duration(0), l.clock.Now().Add(wait)
	if wait > 0 {
		limit = capped(ctx, wait)
	}
	if limit <= 0 {
		d, out, err = l.ask(ctx, q)
	} else {
		waiter, err = l.lines.wait(ctx, q.seat.LineKeys, limit, func(ctx context.Context, at place) (look, error) {
			q.seat.Waiter, q.seat.BeatMS = at.waiter, at.beat.Milliseconds()
			q.wait = patienceUS(ctx, end.Sub(l.clock.Now()))
			d, out, err = l.ask(ctx, q)
			return look{served: d.DeniedBy != ReasonConcurrency, first: out.Value.First, free: d.RetryAfter}, err
		})
	}
	if err != nil {
		l.unseat(ctx, q, waiter, err)
		return d, out, err
	}
	if waiter != "" && d.Allowed && !out.Value.Reserved {
		d = d.after(l.now() - q.begun)
		l.tel.Waited(ctx, nounRatelimit, waitOutcome(true, nil), d.Waited)
	}
	return d, out, nil
}

// keepSeat has the caller's session hold the place of a grant, if it has one, and
// answers a replayed grant by what became of its place.
func (l *RateLimiter) keepSeat(ctx context.Context, q question, d Decision, out answer) (Decision, error) {
	if !q.seated() || d.Grant == "" {
		return d, nil
	}
	c, op := q.caller, "ratelimit "+q.lim.label()+": "
	h := hold{leaseID: leaseID{nounRatelimit, q.tag, d.Grant}, session: q.seat.Session, ttl: holdFor, kind: l.seats}
	sent := out.Sent
	if out.Replayed {
		in := l.seats.renewal(h)
		in.Move, in.Client, in.Instance, in.HoldMS = true, q.seat.Client, q.seat.Instance, q.seat.HoldMS
		moved, err := lua.Run(ctx, l.runner, lua.RatelimitRenew, in, lua.Latch{})
		switch {
		case err != nil:
			return Decision{}, failed(op+"replay", err)
		case moved.Value == lua.SeatGone:
			d.Allowed, d.DeniedBy, d.Grant, d.RetryAfter = false, ReasonConcurrency, "", pollEvery
			return d, nil
		}
		sent = moved.Sent
	}
	d.Held = true
	if c.Session == nil || l.leases.bind(&lease{leaseID: h.leaseID, ttl: h.ttl, session: c.Session, kind: l.seats}, sent) {
		return d, nil
	}
	l.leases.giveBack(context.WithoutCancel(ctx), []hold{h})
	return Decision{}, &Error{
		Code: Cancelled, Op: op + "bind",
		Err: errors.New("the connection closed before the grant came; its place was given back"),
	}
}

// unseat sees to a place that may have been taken although the call failed, and
// to the one in the line.
func (l *RateLimiter) unseat(ctx context.Context, q question, waiter string, why error) {
	h := hold{leaseID: leaseID{nounRatelimit, q.tag, ""}, session: q.seat.Session, kind: l.seats, waiter: waiter}
	if errors.Is(why, lua.ErrMaybeExecuted) {
		h.token, h.doubt = grant{id: q.id, tag: q.tag, algorithm: q.lim.algorithm}.String(), why
	}
	if h.token != "" || waiter != "" {
		l.leases.giveBack(context.WithoutCancel(ctx), []hold{h})
	}
}

// leaveSeat gives back the place of a grant whose slot nobody will use, unless
// another session has it by now.
func (l *RateLimiter) leaveSeat(ctx context.Context, q question, text string) {
	h := hold{leaseID: leaseID{nounRatelimit, q.tag, text}, session: q.seat.Session, kind: l.seats}
	if x := l.leases.find(h.leaseID); x != nil && x.session == q.caller.Session {
		l.leases.forget(h.leaseID)
	}
	l.leases.giveBack(context.WithoutCancel(ctx), []hold{h})
}

// Done frees the place of a grant under a rule with max_concurrent, in whatever
// session, and reports whether it had one. It runs on its own time: a caller that
// goes away does not stop it.
func (l *RateLimiter) Done(ctx context.Context, c Caller, text string) (bool, error) {
	g, err := parseGrant(text)
	if err != nil {
		return false, err
	}
	h := hold{leaseID: leaseID{nounRatelimit, g.tag, text}, kind: l.seats}
	// Before the script: nothing renews or reports what is being given back.
	x := l.leases.forget(h.leaseID)
	if x != nil && x.session != c.Session {
		l.leases.tell(x, ReasonExpired) // someone else gave it back
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackTime)
	defer cancel()
	out, err := lua.Run(ctx, l.runner, lua.RatelimitDone, l.seats.done(h), lua.Latch{})
	if err != nil {
		if x != nil {
			// No longer renewed, but closing the session tries once more.
			l.leases.doubt(&lease{leaseID: x.leaseID, ttl: x.ttl, session: x.session, kind: l.seats}, err)
		}
		rule, _, _ := strings.Cut(g.tag, ":")
		return false, failed("ratelimit "+rule+": done", err)
	}
	return out.Value == lua.SeatHeld, nil
}
