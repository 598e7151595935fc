package pool

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// stickyFor is how long a name keeps its member beyond its last use.
const stickyFor = 24 * time.Hour

// checkAsked checks what the contract's tags do not of the params of an acquisition.
func checkAsked(c coord.Caller, p *api.PermitAcquireParams, what string) error {
	if n := len(p.Exclude); n > api.MaxExcluded {
		return coord.Invalid("exclude: %d members are too many; give at most %d", n, api.MaxExcluded)
	}
	if err := checkTexts("exclude", p.Exclude); err != nil {
		return err
	}
	return lease.CheckBound(c, p.Bind == api.BindSession, what)
}

// memberScript runs the script of a noun once. That of a pool leaves the fields of a
// permit zero.
type memberScript func(context.Context, AcquireIn, lua.Latch) (lua.Outcome[PermitAcquireOut], error)

// memberAcquisition is a call that acquires a member, alone or with a permit. A call
// that waits keeps nothing else: the inputs of scripts are made from it each time,
// since the keys alone take a kilobyte.
type memberAcquisition struct {
	lease.Acquisition[PermitAcquireOut, api.PermitAcquireResult]
	*members
	params *api.PermitAcquireParams // of a pool without rule, breaker and cost
	terms  string                   // beyond rule and breaker, what makes members possible at different times
	text   memberLease              // without its member
	run    memberScript
	once   lua.Latch
	// tried: a script was run. A call that is refused before is not counted.
	tried bool
}

// acquire has a script lease a member, once or in the caller's turn, for params that
// were checked.
func (m *members) acquire(
	ctx context.Context, c coord.Caller, p *api.PermitAcquireParams, terms string, run memberScript, done func(api.PermitAcquireResult, error),
) {
	x := lease.NewLease(c, m.noun, p.Pool, "", p.Bind, p.LeaseMS, nil)
	a := &memberAcquisition{
		members: m, params: p, terms: terms, run: run,
		text: memberLease{noun: m.noun, token: x.Token, scope: p.Scope, rule: p.Rule},
	}
	a.Acquisition = lease.Acquisition[PermitAcquireOut, api.PermitAcquireResult]{
		Leases: m.leases, Lines: m.lines, Caller: c, Verb: "acquire", Lease: x, Made: true, Wait: coord.Millis(p.WaitMS),
		Ask: a.try, Grant: a.granted, Refuse: a.refused, Replay: a.replayed,
		Waited: func(r *api.PermitAcquireResult, ms int64) bool {
			r.WaitedMS = ms
			return r.Acquired
		},
	}
	in := a.input()
	a.Line, a.once = in.View.LineKeys, coord.Latch(in.Pool.State, c)
	// A lease that is in doubt has no member yet, and leaves the line when it is given back.
	x.Token, x.Kind = a.text.String(), memberKind{m, in.View.LineKeys}
	lease.Acquire(ctx, &a.Acquisition, func(r api.PermitAcquireResult, err error) {
		if a.tried {
			m.leases.Tel.MemberDecided(ctx, m.noun, memberOutcome(r, err))
		}
		done(r, err)
	})
}

// memberOutcome is how an acquisition ended, for its metric.
func memberOutcome(r api.PermitAcquireResult, err error) string {
	switch {
	case err != nil:
		return "failed"
	case r.Acquired:
		return "acquired"
	default:
		return r.DeniedBy
	}
}

// input is the input of the scripts. Each scope, rule and policy has a waiting line of its own.
func (a *memberAcquisition) input() AcquireIn {
	p, id := a.params, a.Caller.Identity()
	in := AcquireIn{
		Pool: a.keys.poolKeys(p.Pool), View: a.keys.view(p.Pool, a.noun, [3]string{p.Scope, p.Rule, p.Breaker}, a.terms),
		Token: a.text.token, LeaseMS: p.LeaseMS, Session: a.Lease.SessionID(), Client: id.Client, Instance: id.Instance,
		Inboxes: a.keys.Inboxes(), Exclude: p.Exclude, StickyMS: stickyFor.Milliseconds(),
	}
	if p.Sticky != "" {
		in.Sticky = a.keys.sticky(p.Pool, p.Scope, p.Sticky)
	}
	return in
}

// try asks the script, in several runs for a pool of which little is known.
func (a *memberAcquisition) try(ctx context.Context, at lease.Place) (lease.Attempt[PermitAcquireOut], error) {
	a.tried = true
	in := a.input()
	in.Waiter, in.BeatMS = at.Waiter, at.Beat.Milliseconds()
	for {
		out, err := a.run(ctx, in, a.once)
		v := out.Value
		if err == nil && v.More {
			if err = ctx.Err(); err == nil {
				continue
			}
		}
		found := lease.Look{Served: v.Acquired || out.Replayed, First: v.First, Free: max(0, coord.CeilMS(v.RetryUS))}
		return lease.Attempt[PermitAcquireOut]{Outcome: out, Look: found}, err
	}
}

// name puts the member into the lease's text. Nothing is in doubt any more, so that
// the line goes from its kind.
func (a *memberAcquisition) name(member string) {
	a.text.member = member
	a.Lease.Token, a.Lease.Kind = a.text.String(), memberKind{members: a.members}
}

func (a *memberAcquisition) granted(ctx context.Context, t lease.Attempt[PermitAcquireOut]) (api.PermitAcquireResult, error) {
	a.name(t.Value.ID)
	return a.keep(ctx, t.Value, t.Sent)
}

// keep has the session hold what a call sent at that time was granted.
func (a *memberAcquisition) keep(ctx context.Context, v PermitAcquireOut, sent time.Time) (api.PermitAcquireResult, error) {
	a.Lease.Fence = v.Fence
	if err := a.Heard(ctx, sent); err != nil {
		return api.PermitAcquireResult{}, err
	}
	return api.PermitAcquireResult{
		Acquired: true, ID: v.ID, Lease: a.Lease.Token, Fence: coord.Fence(v.Fence), Meta: v.Meta,
		Generation: v.Generation, Probe: v.Probe, Remaining: v.Remaining, LastUsedAtMS: v.LastUsedMS,
	}, nil
}

func (a *memberAcquisition) refused(t lease.Attempt[PermitAcquireOut]) api.PermitAcquireResult {
	return api.PermitAcquireResult{DeniedBy: t.Value.Reason, RetryAfterMS: coord.WaitMS(t.Value.RetryUS), NextAtMS: t.Value.NextMS}
}

// replayed answers a request id whose grant was given before. The latched reply is
// only a memory, so that Redis is asked, by token: a live lease moves to this
// session, so that the give-back of the old one finds it moved.
func (a *memberAcquisition) replayed(ctx context.Context, was PermitAcquireOut) (api.PermitAcquireResult, error) {
	in := a.input()
	a.name(was.ID)
	out, err := lua.Run(ctx, a.runner, RenewScript, RenewIn{
		Pool: in.Pool, Lease: Lease{Token: in.Token, Member: was.ID},
		Session: in.Session, LeaseMS: in.LeaseMS, Move: true, Client: in.Client, Instance: in.Instance,
	}, lua.Latch{})
	if err != nil {
		a.Acquisition.Leases.Unsure(ctx, a.Caller, a.Lease, false, "", err)
		return api.PermitAcquireResult{}, coord.Failed(a.noun+" "+a.params.Pool+": replay", err)
	}
	switch out.Value.State {
	case lease.StateOwned:
		r, err := a.keep(ctx, was, out.Sent)
		r.Replayed = err == nil
		return r, err
	case lease.StateReleased:
		return api.PermitAcquireResult{Replayed: true, DeniedBy: lease.ReasonReleased}, nil
	default:
		return api.PermitAcquireResult{Replayed: true, DeniedBy: lease.ReasonExpired}, nil
	}
}
