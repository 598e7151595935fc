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

// A rule with max_concurrent gives out a permit with each grant: a lease, which the
// script that charges the cost grants in the same step. A call that may wait first
// waits in line for a permit. Permit and cost are then taken together, so that no call
// is charged for waiting in line, and none holds a permit while the limit refuses it.

const (
	// holdFor is how long a permit that a session renews is valid without a renewal.
	holdFor = 30 * time.Second
	// holdUnbound is how long a permit is valid that no session renews.
	holdUnbound = time.Minute
)

// permits renews permits and gives them back. The token of such a lease is the text of
// its grant, which contains all that is needed to build its keys.
type permits struct {
	runner *lua.Runner
	keys   keys
}

// RenewHeld implements Kind.
func (s permits) RenewHeld(ctx context.Context, due []lease.Hold) []lease.Renewal {
	return lease.RenewBy(ctx, s.runner, RenewScript, due, s.renewal, func(state PermitState) lease.Renewal {
		switch state {
		case PermitHeld:
			return lease.Renewal{Held: true}
		case PermitMoved:
			return lease.Renewal{Moved: true}
		default:
			return lease.Renewal{Reason: lease.ReasonExpired}
		}
	})
}

// renewal is the input of the script that extends a permit.
func (s permits) renewal(h lease.Hold) RenewIn {
	g, _, _ := parseGrant(h.Token) // made by this package
	leases, holders, _ := s.keys.permits(g.tag)
	return RenewIn{Leases: leases, Holders: holders, ID: g.id, Session: h.Session, HoldMS: h.TTL.Milliseconds()}
}

// GiveBackHeld implements Kind.
func (s permits) GiveBackHeld(ctx context.Context, gone []lease.Hold) []error {
	return lease.GiveBackBy(ctx, s.runner, DoneScript, gone, s.done)
}

// done is the input of the script that releases a permit, a ticket of the waiting line, or both.
func (s permits) done(h lease.Hold) DoneIn {
	in := DoneIn{Session: h.Session, Waiter: h.Waiter, Inboxes: s.keys.Inboxes()}
	tag := h.Name
	if g, _, err := parseGrant(h.Token); err == nil {
		in.ID, tag = g.id, g.tag
	}
	in.Leases, in.Holders, in.LineKeys = s.keys.permits(tag)
	return in
}

// permitInput is the part of a charge that asks for a permit under max_concurrent.
func (l *Limiter) permitInput(q question) Permit {
	s := Permit{MaxConcurrent: q.lim.options.MaxConcurrent, HoldMS: holdUnbound.Milliseconds(), Inboxes: l.keys.Inboxes()}
	var line lease.LineKeys
	s.Leases, s.Holders, line = l.keys.permits(q.tag)
	s.Line, s.Heartbeats = line.Line, line.Heartbeats
	if q.caller.Session != nil {
		id := q.caller.Identity()
		s.Session, s.Client, s.Instance, s.HoldMS = q.caller.Session.ID, id.Client, id.Instance, holdFor.Milliseconds()
	}
	return s
}

// takesPermit reports whether the call takes a permit with its cost.
func (q question) takesPermit() bool { return q.lim.options.MaxConcurrent > 0 && !q.peek && q.cost > 0 }

// take is ask, and also takes a permit if the rule has max_concurrent.
func (l *Limiter) take(ctx context.Context, q question) (decision, error) {
	d, out, err := l.atOnce(ctx, q)
	if err != nil {
		return d, err
	}
	return l.keepPermit(ctx, q, d, out)
}

// atOnce asks once, for a permit too, and does not wait in line. The caller must pass
// a grant to keepPermit.
func (l *Limiter) atOnce(ctx context.Context, q question) (decision, answer, error) {
	if !q.takesPermit() {
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

// inTurn is atOnce, but waits in line for a permit up to wait.
func (l *Limiter) inTurn(ctx context.Context, q *question, wait time.Duration, done func(decision, answer, error)) {
	if !q.takesPermit() || lease.Capped(ctx, wait) <= 0 {
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

// settled cleans up after an answer: it releases a permit that may have been granted
// although the call failed, and removes the call from the waiting line.
func (l *Limiter) settled(
	ctx context.Context, q question, d decision, out answer, waiter string, ambiguous, err error,
) (decision, answer, error) {
	if d.MaybeExecuted {
		ambiguous = redis.ErrMaybeExecuted // the fail mode answered in place of a grant
	}
	if ambiguous != nil || waiter != "" && (err != nil || d.Degraded || out.Replayed) {
		l.releaseAfterFailure(ctx, q, waiter, ambiguous)
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

// permitAttempt is one try of a call that waits in line for a permit.
type permitAttempt struct {
	lease.Look
	d   decision
	out answer
}

// inLine asks whenever it may be the call's turn. A try that may have run is repeated
// only if the call has a request id; otherwise it ends the wait. done gets as ambiguous
// the error of a try whose reply was lost, so that it may have taken a permit.
func (l *Limiter) inLine(
	ctx context.Context, q *question, wait time.Duration, done func(d decision, out answer, waiter string, ambiguous, err error),
) {
	var ambiguous error
	end := l.clock.Now().Add(wait)
	lease.WaitInLine(ctx, l.lines, q.permit.LineKeys(), wait, func(ctx context.Context, at lease.Place) (permitAttempt, error) {
		asked := *q
		asked.permit.Waiter, asked.permit.HeartbeatMS = at.Waiter, at.Heartbeat.Milliseconds()
		asked.wait = patienceUS(ctx, end.Sub(l.clock.Now()))
		d, out, err := l.ask(ctx, asked)
		switch {
		case errors.Is(err, redis.ErrMaybeExecuted):
			if ambiguous = err; q.stored.Key == "" {
				return permitAttempt{Look: lease.Look{Served: true}}, nil
			}
		case err == nil && d.Grant != "":
			ambiguous = nil // the stored reply of that try came
		}
		found := lease.Look{Served: d.DeniedBy != ReasonConcurrency, First: out.Value.First, Free: coord.Millis(d.RetryAfterMS)}
		return permitAttempt{found, d, out}, err
	}, func(last permitAttempt, waiter string, err error) {
		if ambiguous != nil && q.stored.Key == "" {
			err = ambiguous
		}
		done(last.d, last.out, waiter, ambiguous, err)
	})
}

// keepPermit binds the permit of a grant to the caller's session, if there is one. A
// replayed grant is refused if its permit has ended; otherwise the permit moves to this
// session.
func (l *Limiter) keepPermit(ctx context.Context, q question, d decision, out answer) (decision, error) {
	if !q.takesPermit() || d.Grant == "" {
		return d, nil
	}
	c, op := q.caller, "ratelimit "+q.lim.label()+": "
	h := lease.Hold{ID: lease.ID{Noun: noun, Name: q.tag, Token: d.Grant}, Session: q.permit.Session, TTL: holdFor, Kind: l.permits}
	sent := out.Sent
	if out.Replayed {
		in := l.permits.renewal(h)
		in.Move, in.Client, in.Instance, in.HoldMS = true, q.permit.Client, q.permit.Instance, q.permit.HoldMS
		moved, err := lua.Run(ctx, l.runner, RenewScript, in, lua.StoredReply{})
		switch {
		case err != nil:
			return decision{}, coord.Failed(op+"replay", err)
		case moved.Value == PermitGone:
			d.Allowed, d.DeniedBy, d.Grant, d.RetryAfterMS = false, ReasonConcurrency, "", lease.PollEvery.Milliseconds()
			return d, nil
		}
		sent = moved.Sent
	}
	if over := ctx.Err(); over != nil && !out.Replayed {
		// The call is over: its caller never receives the grant, and so cannot end it.
		l.leases.GiveBack(context.WithoutCancel(ctx), []lease.Hold{h})
		return decision{}, coord.Failed(op+"acquire", over)
	}
	d.Held = true
	if c.Session == nil || l.leases.Bind(&lease.Lease{ID: h.ID, TTL: h.TTL, Session: c.Session, Kind: l.permits}, sent) {
		return d, nil
	}
	l.leases.GiveBack(context.WithoutCancel(ctx), []lease.Hold{h})
	return decision{}, &coord.Error{
		Code: api.Cancelled, Op: op + "bind",
		Err: errors.New("the connection closed before the grant came; its permit was released"),
	}
}

// takeOverPermit moves the permit of a call whose slot has come to the call's session, if
// a repetition of the call has moved it to another one. It releases the permit if the
// call is over, since its caller then never receives the grant.
func (l *Limiter) takeOverPermit(ctx context.Context, q question, d decision) (decision, error) {
	if over := ctx.Err(); over != nil {
		l.releasePermit(ctx, q.tag, d.Grant, q.caller.Session)
		return d, over
	}
	if x := l.leases.Find(lease.ID{Noun: noun, Name: q.tag, Token: d.Grant}); x != nil && x.Session != q.caller.Session {
		return l.keepPermit(ctx, q, d, answer{Replayed: true})
	}
	return d, nil
}

// releaseAfterFailure releases a permit that may have been granted although the call
// failed, and the call's ticket in the waiting line. A caller that may repeat the request
// may still use the permit: then the session keeps it, and gives it back when it closes.
func (l *Limiter) releaseAfterFailure(ctx context.Context, q question, waiter string, ambiguous error) {
	h := lease.Hold{ID: lease.ID{Noun: noun, Name: q.tag}, Session: q.permit.Session, Kind: l.permits, Waiter: waiter, Ambiguous: ambiguous}
	if ambiguous != nil {
		token := grant{id: q.id, tag: q.tag, part: q.lim.part}.text(l.seals)
		id := lease.ID{Noun: noun, Name: q.tag, Token: token}
		s := q.caller.Session
		kept := s != nil && l.leases.Ambiguous(&lease.Lease{ID: id, TTL: holdFor, Session: s, Kind: l.permits}, ambiguous)
		if !kept || q.caller.RequestID == "" || errors.Is(ctx.Err(), context.Canceled) {
			h.Token = token
		}
	}
	if h.Token == "" && waiter == "" {
		return
	}
	// The script is tried once, since the answer must not wait until Redis is back. What
	// it does not release ends at its TTL or with the session, and a ticket at the next
	// heartbeat.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lease.GiveBackTime)
	defer cancel()
	redis.Settle(ctx, ambiguous)
	_, _ = lua.Attempt(ctx, l.runner, DoneScript, l.permits.done(h), lua.StoredReply{})
}

// releasePermit releases the permit, held by session s, of a grant whose slot no call
// will use.
func (l *Limiter) releasePermit(ctx context.Context, tag, text string, s *coord.Session) {
	h := lease.Hold{ID: lease.ID{Noun: noun, Name: tag, Token: text}, Kind: l.permits}
	if s != nil {
		h.Session = s.ID
	}
	if x := l.leases.Find(h.ID); x != nil && x.Session == s {
		l.leases.Forget(h.ID)
	}
	l.leases.GiveBack(context.WithoutCancel(ctx), []lease.Hold{h})
}

// holds reports whether a session of this sidecar holds the permit of a grant.
func (l *Limiter) holds(text string) bool {
	g, _, err := parseGrant(text)
	return err == nil && l.leases != nil && l.leases.Find(lease.ID{Noun: noun, Name: g.tag, Token: text}) != nil
}

// Done releases the permit of a grant under a rule with max_concurrent, whichever session
// holds it, and reports whether the grant held one. The script has a time limit of its own:
// a caller that goes away does not stop it.
func (l *Limiter) Done(ctx context.Context, c coord.Caller, p *api.RatelimitGrantParams) (api.RatelimitDoneResult, error) {
	g, _, err := parseGrant(p.Grant)
	if err != nil {
		return api.RatelimitDoneResult{}, err
	}
	h := lease.Hold{ID: lease.ID{Noun: noun, Name: g.tag, Token: p.Grant}, Kind: l.permits}
	// Forgotten before the script runs, so that the permit is neither renewed nor reported as lost meanwhile.
	x := l.leases.Forget(h.ID)
	if x != nil && x.Session != c.Session {
		l.leases.ReportLost(x, lease.ReasonExpired) // another session gave it back
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lease.GiveBackTime)
	defer cancel()
	out, err := lua.Run(ctx, l.runner, DoneScript, l.permits.done(h), lua.StoredReply{})
	if err != nil {
		if x != nil {
			// It is no longer renewed, but the session tries once more when it closes.
			l.leases.Ambiguous(&lease.Lease{ID: x.ID, TTL: x.TTL, Session: x.Session, Kind: l.permits}, err)
		}
		rule, _, _ := strings.Cut(g.tag, ":")
		return api.RatelimitDoneResult{}, coord.Failed("ratelimit "+rule+": done", err)
	}
	return api.RatelimitDoneResult{Done: out.Value == PermitHeld}, nil
}
