package ratelimit

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
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
	keys   keys
}

// RenewHeld implements Kind.
func (s seats) RenewHeld(ctx context.Context, due []lease.Hold) []lease.Renewal {
	return lease.RenewBy(ctx, s.runner, RenewScript, due, s.renewal, func(state SeatState) lease.Renewal {
		switch state {
		case SeatHeld:
			return lease.Renewal{Held: true}
		case SeatMoved:
			return lease.Renewal{Moved: true}
		default:
			return lease.Renewal{Reason: lease.ReasonExpired}
		}
	})
}

// renewal is the input of the script that extends a permit.
func (s seats) renewal(h lease.Hold) RenewIn {
	g, _, _ := parseGrant(h.Token) // ours
	leases, holders, _ := s.keys.seats(g.tag)
	return RenewIn{Leases: leases, Holders: holders, ID: g.id, Session: h.Session, HoldMS: h.TTL.Milliseconds()}
}

// GiveBackHeld implements Kind.
func (s seats) GiveBackHeld(ctx context.Context, gone []lease.Hold) []error {
	return lease.GiveBackBy(ctx, s.runner, DoneScript, gone, s.done)
}

// done is the input of the script that gives back a permit, a ticket in the waiting line, or both.
func (s seats) done(h lease.Hold) DoneIn {
	in := DoneIn{Session: h.Session, Waiter: h.Waiter, Inboxes: s.keys.Inboxes()}
	tag := h.Name
	if g, _, err := parseGrant(h.Token); err == nil {
		in.ID, tag = g.id, g.tag
	}
	in.Leases, in.Holders, in.LineKeys = s.keys.seats(tag)
	return in
}

// seat is the part of a charge that asks for a permit under max_concurrent.
func (l *Limiter) seat(q question) Seat {
	s := Seat{MaxConcurrent: q.lim.options.MaxConcurrent, HoldMS: holdUnbound.Milliseconds(), Inboxes: l.keys.Inboxes()}
	var line lease.LineKeys
	s.Leases, s.Holders, line = l.keys.seats(q.tag)
	s.Line, s.Heartbeats = line.Line, line.Heartbeats
	if q.caller.Session != nil {
		id := q.caller.Identity()
		s.Session, s.Client, s.Instance, s.HoldMS = q.caller.Session.ID, id.Client, id.Instance, holdFor.Milliseconds()
	}
	return s
}

// seated reports whether the call takes a place with its cost.
func (q question) seated() bool { return q.lim.options.MaxConcurrent > 0 && !q.peek && q.cost > 0 }

// take is ask, with a place where the rule has any.
func (l *Limiter) take(ctx context.Context, q question) (decision, error) {
	d, out, err := l.atOnce(ctx, q)
	if err != nil {
		return d, err
	}
	return l.keepSeat(ctx, q, d, out)
}

// atOnce asks, for a place too, and not in anybody's turn. The place is to be kept,
// by keepSeat.
func (l *Limiter) atOnce(ctx context.Context, q question) (decision, answer, error) {
	if !q.seated() {
		return l.ask(ctx, q)
	}
	if err := l.leases.Admit("ratelimit " + q.lim.label() + ": acquire"); err != nil {
		return decision{}, answer{}, err
	}
	d, out, err := l.ask(ctx, q)
	var ambiguous error
	if errors.Is(err, redis.ErrMaybeExecuted) {
		ambiguous = err
	}
	return l.settled(ctx, q, d, out, "", ambiguous, err)
}

// inTurn is atOnce for a place in the caller's turn.
func (l *Limiter) inTurn(ctx context.Context, q *question, wait time.Duration, done func(decision, answer, error)) {
	if !q.seated() || lease.Capped(ctx, wait) <= 0 {
		done(l.atOnce(ctx, *q))
		return
	}
	if err := l.leases.Admit("ratelimit " + q.lim.label() + ": acquire"); err != nil {
		done(decision{}, answer{}, err)
		return
	}
	l.inLine(ctx, q, wait, func(d decision, out answer, waiter string, ambiguous, err error) {
		done(l.settled(ctx, *q, d, out, waiter, ambiguous, err))
	})
}

// settled cleans up after an answer: it gives back a place that may have been taken,
// and takes the call out of the waiting line.
func (l *Limiter) settled(
	ctx context.Context, q question, d decision, out answer, waiter string, ambiguous, err error,
) (decision, answer, error) {
	if d.MaybeExecuted {
		ambiguous = redis.ErrMaybeExecuted // the fail mode answered in place of a grant
	}
	if ambiguous != nil || waiter != "" && (err != nil || d.Degraded || out.Replayed) {
		l.unseat(ctx, q, waiter, ambiguous)
	}
	var known *coord.Error
	if err != nil && !errors.As(err, &known) {
		err = coord.Failed("ratelimit "+q.lim.label()+": acquire", err)
	}
	if waiter != "" && err == nil && d.Allowed && !out.Value.Reserved() {
		d = d.after(l.now() - q.begun)
		l.tel.Waited(ctx, noun, lease.WaitOutcome(true, nil), d.waited)
	}
	return d, out, err
}

// seatAttempt is one try of a call that waits for a place under max_concurrent.
type seatAttempt struct {
	lease.Look
	d   decision
	out answer
}

// inLine asks whenever it may be the caller's turn. A try that may have run is not run
// again unless the call has a request id: it ends the wait. doubt is the error of a
// try whose reply was lost, so that it may have taken a place.
func (l *Limiter) inLine(
	ctx context.Context, q *question, wait time.Duration, done func(d decision, out answer, waiter string, ambiguous, err error),
) {
	var ambiguous error
	end := l.clock.Now().Add(wait)
	lease.Stand(ctx, l.lines, q.seat.LineKeys(), wait, func(ctx context.Context, at lease.Place) (seatAttempt, error) {
		asked := *q
		asked.seat.Waiter, asked.seat.HeartbeatMS = at.Waiter, at.Heartbeat.Milliseconds()
		asked.wait = patienceUS(ctx, end.Sub(l.clock.Now()))
		d, out, err := l.ask(ctx, asked)
		switch {
		case errors.Is(err, redis.ErrMaybeExecuted):
			if ambiguous = err; q.stored.Key == "" {
				return seatAttempt{Look: lease.Look{Served: true}}, nil
			}
		case err == nil && d.Grant != "":
			ambiguous = nil // its repetition was answered
		}
		found := lease.Look{Served: d.DeniedBy != ReasonConcurrency, First: out.Value.First, Free: coord.Millis(d.RetryAfterMS)}
		return seatAttempt{found, d, out}, err
	}, func(last seatAttempt, waiter string, err error) {
		if ambiguous != nil && q.stored.Key == "" {
			err = ambiguous
		}
		done(last.d, last.out, waiter, ambiguous, err)
	})
}

// keepSeat has the caller's session hold the place of a grant, if it has one, and
// answers a replayed grant by what became of its place.
func (l *Limiter) keepSeat(ctx context.Context, q question, d decision, out answer) (decision, error) {
	if !q.seated() || d.Grant == "" {
		return d, nil
	}
	c, op := q.caller, "ratelimit "+q.lim.label()+": "
	h := lease.Hold{ID: lease.ID{Noun: noun, Name: q.tag, Token: d.Grant}, Session: q.seat.Session, TTL: holdFor, Kind: l.seats}
	sent := out.Sent
	if out.Replayed {
		in := l.seats.renewal(h)
		in.Move, in.Client, in.Instance, in.HoldMS = true, q.seat.Client, q.seat.Instance, q.seat.HoldMS
		moved, err := lua.Run(ctx, l.runner, RenewScript, in, lua.StoredReply{})
		switch {
		case err != nil:
			return decision{}, coord.Failed(op+"replay", err)
		case moved.Value == SeatGone:
			d.Allowed, d.DeniedBy, d.Grant, d.RetryAfterMS = false, ReasonConcurrency, "", lease.PollEvery.Milliseconds()
			return d, nil
		}
		sent = moved.Sent
	}
	if over := ctx.Err(); over != nil && !out.Replayed {
		// Nobody hears of the grant, to end it.
		l.leases.GiveBack(context.WithoutCancel(ctx), []lease.Hold{h})
		return decision{}, coord.Failed(op+"acquire", over)
	}
	d.Held = true
	if c.Session == nil || l.leases.Bind(&lease.Lease{ID: h.ID, TTL: h.TTL, Session: c.Session, Kind: l.seats}, sent) {
		return d, nil
	}
	l.leases.GiveBack(context.WithoutCancel(ctx), []lease.Hold{h})
	return decision{}, &coord.Error{
		Code: api.Cancelled, Op: op + "bind",
		Err: errors.New("the connection closed before the grant came; its place was given back"),
	}
}

// reseat has the session of a call whose slot has come hold the place, when a
// repetition of the call has moved it, and gives it back when nobody hears of it.
func (l *Limiter) reseat(ctx context.Context, q question, d decision) (decision, error) {
	if over := ctx.Err(); over != nil {
		l.leaveSeat(ctx, q.tag, d.Grant, q.caller.Session)
		return d, over
	}
	if x := l.leases.Find(lease.ID{Noun: noun, Name: q.tag, Token: d.Grant}); x != nil && x.Session != q.caller.Session {
		return l.keepSeat(ctx, q, d, answer{Replayed: true})
	}
	return d, nil
}

// unseat sees to a place that may have been taken although the call failed, and to
// the one in the line. Who repeats the request may still want it: then the session
// remembers it, and gives it back when it closes.
func (l *Limiter) unseat(ctx context.Context, q question, waiter string, ambiguous error) {
	h := lease.Hold{ID: lease.ID{Noun: noun, Name: q.tag}, Session: q.seat.Session, Kind: l.seats, Waiter: waiter, Ambiguous: ambiguous}
	if ambiguous != nil {
		token := grant{id: q.id, tag: q.tag, part: q.lim.part}.text(l.seals)
		id := lease.ID{Noun: noun, Name: q.tag, Token: token}
		s := q.caller.Session
		kept := s != nil && l.leases.Ambiguous(&lease.Lease{ID: id, TTL: holdFor, Session: s, Kind: l.seats}, ambiguous)
		if !kept || q.caller.RequestID == "" || errors.Is(ctx.Err(), context.Canceled) {
			h.Token = token
		}
	}
	if h.Token == "" && waiter == "" {
		return
	}
	// Once: what stays behind ends with its time, or with the session, and a place
	// in the line with the next heartbeat. An answer does not wait for Redis to be back.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lease.GiveBackTime)
	defer cancel()
	redis.Settle(ctx, ambiguous)
	_, _ = lua.Attempt(ctx, l.runner, DoneScript, l.seats.done(h), lua.StoredReply{})
}

// leaveSeat gives back the place of a grant whose slot nobody will use, and which
// that session has.
func (l *Limiter) leaveSeat(ctx context.Context, tag, text string, s *coord.Session) {
	h := lease.Hold{ID: lease.ID{Noun: noun, Name: tag, Token: text}, Kind: l.seats}
	if s != nil {
		h.Session = s.ID
	}
	if x := l.leases.Find(h.ID); x != nil && x.Session == s {
		l.leases.Forget(h.ID)
	}
	l.leases.GiveBack(context.WithoutCancel(ctx), []lease.Hold{h})
}

// holds reports whether a session of this sidecar has the place of a grant.
func (l *Limiter) holds(text string) bool {
	g, _, err := parseGrant(text)
	return err == nil && l.leases != nil && l.leases.Find(lease.ID{Noun: noun, Name: g.tag, Token: text}) != nil
}

// Done frees the place of a grant under a rule with max_concurrent, in whatever
// session, and reports whether it had one. It runs on its own time: a caller that
// goes away does not stop it.
func (l *Limiter) Done(ctx context.Context, c coord.Caller, p *api.RatelimitGrantParams) (api.RatelimitDoneResult, error) {
	g, _, err := parseGrant(p.Grant)
	if err != nil {
		return api.RatelimitDoneResult{}, err
	}
	h := lease.Hold{ID: lease.ID{Noun: noun, Name: g.tag, Token: p.Grant}, Kind: l.seats}
	// Before the script: nothing renews or reports what is being given back.
	x := l.leases.Forget(h.ID)
	if x != nil && x.Session != c.Session {
		l.leases.Tell(x, lease.ReasonExpired) // someone else gave it back
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lease.GiveBackTime)
	defer cancel()
	out, err := lua.Run(ctx, l.runner, DoneScript, l.seats.done(h), lua.StoredReply{})
	if err != nil {
		if x != nil {
			// No longer renewed, but closing the session tries once more.
			l.leases.Ambiguous(&lease.Lease{ID: x.ID, TTL: x.TTL, Session: x.Session, Kind: l.seats}, err)
		}
		rule, _, _ := strings.Cut(g.tag, ":")
		return api.RatelimitDoneResult{}, coord.Failed("ratelimit "+rule+": done", err)
	}
	return api.RatelimitDoneResult{Done: out.Value == SeatHeld}, nil
}
