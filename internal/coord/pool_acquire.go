package coord

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// stickyFor is how long a name keeps its member beyond its last use.
const stickyFor = 24 * time.Hour

// checkAsked checks what the contract's tags do not of the params of an acquisition.
func checkAsked(c Caller, p *api.PermitAcquireParams, what string) error {
	if n := len(p.Exclude); n > api.MaxExcluded {
		return invalid("exclude: %d members are too many; give at most %d", n, api.MaxExcluded)
	}
	if err := checkTexts("exclude", p.Exclude); err != nil {
		return err
	}
	return checkBound(c, p.Bind == api.BindSession, what)
}

// memberScript runs the script of a noun once. That of a pool leaves the fields of a
// permit zero.
type memberScript func(context.Context, lua.PoolAcquireIn, lua.Latch) (lua.Outcome[lua.PermitAcquireOut], error)

// memberAcquisition is a call that acquires a member, alone or with a permit. A call
// that waits keeps nothing else: the inputs of scripts are made from it each time,
// since the keys alone take a kilobyte.
type memberAcquisition struct {
	acquisition[lua.PermitAcquireOut, api.PermitAcquireResult]
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
	ctx context.Context, c Caller, p *api.PermitAcquireParams, terms string, run memberScript, done func(api.PermitAcquireResult, error),
) {
	x := newLease(c, m.noun, p.Pool, "", p.Bind, p.LeaseMS, nil)
	a := &memberAcquisition{
		members: m, params: p, terms: terms, run: run,
		text: memberLease{noun: m.noun, token: x.token, scope: p.Scope, rule: p.Rule},
	}
	a.acquisition = acquisition[lua.PermitAcquireOut, api.PermitAcquireResult]{
		leases: m.leases, lines: m.lines, caller: c, verb: "acquire", lease: x, made: true, wait: Millis(p.WaitMS),
		ask: a.try, grant: a.granted, refuse: a.refused, replay: a.replayed,
		waited: func(r *api.PermitAcquireResult, ms int64) bool {
			r.WaitedMS = ms
			return r.Acquired
		},
	}
	in := a.input()
	a.line, a.once = in.LineKeys, Latch(in.State, c)
	// A lease that is in doubt has no member yet, and leaves the line when it is given back.
	x.token, x.kind = a.text.String(), memberKind{m, in.LineKeys}
	acquire(ctx, &a.acquisition, func(r api.PermitAcquireResult, err error) {
		if a.tried {
			m.leases.tel.MemberDecided(ctx, m.noun, memberOutcome(r, err))
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
func (a *memberAcquisition) input() lua.PoolAcquireIn {
	p, id := a.params, a.caller.identity()
	in := lua.PoolAcquireIn{
		PoolKeys: a.keys.poolKeys(p.Pool), ViewKeys: a.keys.view(p.Pool, a.noun, [3]string{p.Scope, p.Rule, p.Breaker}, a.terms),
		Token: a.text.token, LeaseMS: p.LeaseMS, Session: a.lease.sessionID(), Client: id.Client, Instance: id.Instance,
		Inboxes: a.keys.inboxes(), Exclude: p.Exclude, StickyMS: stickyFor.Milliseconds(),
	}
	if p.Sticky != "" {
		in.Sticky = a.keys.sticky(p.Pool, p.Scope, p.Sticky)
	}
	return in
}

// try asks the script, in several runs for a pool of which little is known.
func (a *memberAcquisition) try(ctx context.Context, at place) (attempt[lua.PermitAcquireOut], error) {
	a.tried = true
	in := a.input()
	in.Waiter, in.BeatMS = at.waiter, at.beat.Milliseconds()
	for {
		out, err := a.run(ctx, in, a.once)
		v := out.Value
		if err == nil && v.More {
			if err = ctx.Err(); err == nil {
				continue
			}
		}
		found := look{served: v.Acquired || out.Replayed, first: v.First, free: max(0, ceilMS(v.RetryUS))}
		return attempt[lua.PermitAcquireOut]{Outcome: out, look: found}, err
	}
}

// name puts the member into the lease's text. Nothing is in doubt any more, so that
// the line goes from its kind.
func (a *memberAcquisition) name(member string) {
	a.text.member = member
	a.lease.token, a.lease.kind = a.text.String(), memberKind{members: a.members}
}

func (a *memberAcquisition) granted(ctx context.Context, t attempt[lua.PermitAcquireOut]) (api.PermitAcquireResult, error) {
	a.name(t.Value.ID)
	return a.keep(ctx, t.Value, t.Sent)
}

// keep has the session hold what a call sent at that time was granted.
func (a *memberAcquisition) keep(ctx context.Context, v lua.PermitAcquireOut, sent time.Time) (api.PermitAcquireResult, error) {
	a.lease.fence = v.Fence
	if err := a.heard(ctx, sent); err != nil {
		return api.PermitAcquireResult{}, err
	}
	return api.PermitAcquireResult{
		Acquired: true, ID: v.ID, Lease: a.lease.token, Fence: Fence(v.Fence), Meta: v.Meta,
		Generation: v.Generation, Probe: v.Probe, Remaining: v.Remaining, LastUsedAtMS: v.LastUsedMS,
	}, nil
}

func (a *memberAcquisition) refused(t attempt[lua.PermitAcquireOut]) api.PermitAcquireResult {
	return api.PermitAcquireResult{DeniedBy: t.Value.Reason, RetryAfterMS: waitMS(t.Value.RetryUS), NextAtMS: t.Value.NextMS}
}

// replayed answers a request id whose grant was given before. The latched reply is
// only a memory, so that Redis is asked, by token: a live lease moves to this
// session, so that the give-back of the old one finds it moved.
func (a *memberAcquisition) replayed(ctx context.Context, was lua.PermitAcquireOut) (api.PermitAcquireResult, error) {
	in := a.input()
	a.name(was.ID)
	out, err := lua.Run(ctx, a.runner, lua.PoolRenew, lua.PoolRenewIn{
		PoolKeys: in.PoolKeys, PoolLease: lua.PoolLease{Token: in.Token, Member: was.ID},
		Session: in.Session, LeaseMS: in.LeaseMS, Move: true, Client: in.Client, Instance: in.Instance,
	}, lua.Latch{})
	if err != nil {
		a.acquisition.leases.unsure(ctx, a.caller, a.lease, false, "", err)
		return api.PermitAcquireResult{}, Failed(a.noun+" "+a.params.Pool+": replay", err)
	}
	switch out.Value.State {
	case lua.LockOwned:
		r, err := a.keep(ctx, was, out.Sent)
		r.Replayed = err == nil
		return r, err
	case lua.LockReleased:
		return api.PermitAcquireResult{Replayed: true, DeniedBy: ReasonReleased}, nil
	default:
		return api.PermitAcquireResult{Replayed: true, DeniedBy: ReasonExpired}, nil
	}
}
