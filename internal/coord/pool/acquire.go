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
	if err := checkExclude(p.Exclude); err != nil {
		return err
	}
	return lease.CheckBound(c, p.Bind == api.BindSession, what)
}

func checkExclude(members []string) error {
	if n := len(members); n > api.MaxExcluded {
		return coord.Invalid("exclude: %d members are too many; give at most %d", n, api.MaxExcluded)
	}
	return checkTexts("exclude", members)
}

// memberScript is the script of a noun. That of a pool leaves the fields of a permit zero.
type memberScript interface {
	// ask prepares a run, and read reads its outcome.
	ask(in AcquireIn, once lua.StoredReply, run *lua.Asked)
	read(ctx context.Context, run *lua.Asked) (lua.Outcome[PermitAcquireOut], error)
}

// memberAcquisition is a call that acquires a member, alone or with a permit. A call
// that waits keeps nothing else: the inputs of scripts are made from it each time,
// since the keys alone take a kilobyte. It implements lease.Terms.
type memberAcquisition struct {
	lease.Acquisition[PermitAcquireOut, api.PermitAcquireResult]
	*members
	params *api.PermitAcquireParams // of a pool without rule, breaker and cost
	terms  string                   // beyond rule and breaker, what makes members possible at different times
	text   memberLease              // without its member
	script memberScript
	once   lua.StoredReply
}

// open has a script lease a member, once or in the caller's turn, for params that
// were checked.
func (a *memberAcquisition) open(m *members, c coord.Caller, p *api.PermitAcquireParams, terms string, s memberScript) {
	x := lease.NewLease(c, m.noun, p.Pool, "", p.Bind, p.LeaseMS, nil)
	*a = memberAcquisition{
		members: m, params: p, terms: terms, script: s,
		text: memberLease{noun: m.noun, token: x.Token, scope: p.Scope, rule: p.Rule},
	}
	a.Acquisition = lease.Acquisition[PermitAcquireOut, api.PermitAcquireResult]{
		Leases: m.leases, Lines: m.lines, Caller: c, Verb: "acquire", Lease: x, Made: true, Wait: coord.Millis(p.WaitMS),
		Unheard: lease.FreeUnbound, Terms: a,
	}
	in := a.input()
	a.Line, a.once = in.View.LineKeys, coord.StoredReply(in.Pool.State, c)
	// A lease that is in doubt has no member yet, and leaves the line when it is given back.
	x.Token, x.Kind = a.text.String(), memberKind{m, in.View.LineKeys}
}

// Decided implements lease.Terms, and so do those that follow.
func (a *memberAcquisition) Decided(ctx context.Context, r api.PermitAcquireResult, err error) {
	a.leases.Tel.MemberDecided(ctx, a.noun, memberOutcome(r, err))
}

func (a *memberAcquisition) Waited(r *api.PermitAcquireResult, ms int64) bool {
	r.WaitedMS = ms
	return r.Acquired
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

func (a *memberAcquisition) Ask(at lease.Place, run *lua.Asked) {
	in := a.input()
	in.Waiter, in.HeartbeatMS = at.Waiter, at.Heartbeat.Milliseconds()
	a.script.ask(in, a.once, run)
}

// Read says that the script has to be run again for a pool of which little is known.
func (a *memberAcquisition) Read(ctx context.Context, run *lua.Asked) (lease.Attempt[PermitAcquireOut], bool, error) {
	out, err := a.script.read(ctx, run)
	v := out.Value
	return lease.Attempt[PermitAcquireOut]{
		Outcome: out, Look: lease.Look{Served: v.Acquired || out.Replayed, First: v.First, Free: max(0, coord.CeilMS(v.RetryUS))},
	}, v.More, err
}

// name puts the member into the lease's text. Nothing is in doubt any more, so that
// the line goes from its kind.
func (a *memberAcquisition) name(member string) {
	a.text.member = member
	a.Lease.Token, a.Lease.Kind = a.text.String(), memberKind{members: a.members}
}

func (a *memberAcquisition) Take(x *lease.Lease, v PermitAcquireOut) {
	a.name(v.ID)
	x.Fence = v.Fence
}

func (a *memberAcquisition) Granted(_ context.Context, t lease.Attempt[PermitAcquireOut]) api.PermitAcquireResult {
	v := t.Value
	return api.PermitAcquireResult{
		Acquired: true, ID: v.ID, Lease: a.Lease.Token, Fence: coord.Fence(v.Fence), Meta: v.Meta,
		Generation: v.Generation, Probe: v.Probe, Remaining: v.Remaining, LastUsedAtMS: v.LastUsedMS,
	}
}

func (a *memberAcquisition) Refused(t lease.Attempt[PermitAcquireOut]) api.PermitAcquireResult {
	return api.PermitAcquireResult{DeniedBy: t.Value.Reason, RetryAfterMS: coord.WaitMS(t.Value.RetryUS), NextAtMS: t.Value.NextMS}
}

// Replayed answers a request id whose grant was given before. The stored reply is
// only a memory, so that Redis is asked, by token: a live lease moves to this
// session, so that the give-back of the old one finds it moved.
func (a *memberAcquisition) Replayed(ctx context.Context, was PermitAcquireOut) (api.PermitAcquireResult, error) {
	in := a.input()
	a.name(was.ID)
	out, err := lua.Run(ctx, a.runner, RenewScript, RenewIn{
		Pool: in.Pool, Lease: Lease{Token: in.Token, Member: was.ID},
		Session: in.Session, LeaseMS: in.LeaseMS, Move: true, Client: in.Client, Instance: in.Instance,
	}, lua.StoredReply{})
	if err != nil {
		a.Acquisition.Leases.Unsure(ctx, a.Caller, a.Lease, false, "", err)
		return api.PermitAcquireResult{}, coord.Failed(a.noun+" "+a.params.Pool+": replay", err)
	}
	switch out.Value.State {
	case lease.StateOwned:
		r, err := a.Grant(ctx, lease.Attempt[PermitAcquireOut]{Outcome: lua.Outcome[PermitAcquireOut]{Sent: out.Sent, Value: was}})
		r.Replayed = err == nil
		return r, err
	case lease.StateReleased:
		return api.PermitAcquireResult{Replayed: true, DeniedBy: lease.ReasonReleased}, nil
	default:
		return api.PermitAcquireResult{Replayed: true, DeniedBy: lease.ReasonExpired}, nil
	}
}
