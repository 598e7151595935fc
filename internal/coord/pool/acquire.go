package pool

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// stickyFor is how long after its last use a sticky name still gets the same member.
const stickyFor = 24 * time.Hour

// checkAsked checks those params of an acquisition that the tags of the contract do not check.
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

// memberScript is the acquiring script of pools or of permits. For pools the fields of a permit remain zero.
type memberScript interface {
	// ask prepares a run, and read reads its outcome.
	ask(in AcquireIn, once lua.StoredReply, run *lua.Asked)
	read(ctx context.Context, run *lua.Asked) (lua.Outcome[PermitAcquireOut], error)
}

// memberAcquisition is a call that acquires a member, alone or with a permit. A call
// that waits keeps only this: the inputs of the script are made anew for each attempt,
// since the keys alone take a kilobyte. It implements lease.Terms.
type memberAcquisition struct {
	lease.Acquisition[PermitAcquireOut, api.PermitAcquireResult]
	*members
	params *api.PermitAcquireParams // of a pool without rule, breaker and cost
	terms  string                   // the terms, beyond rule and breaker, on which it depends when a member is available
	text   memberLease              // the text of the lease, its member not yet set
	script memberScript
	once   lua.StoredReply
}

// open prepares the acquisition for params that were checked.
func (a *memberAcquisition) open(m *members, c coord.Caller, p *api.PermitAcquireParams, terms string, s memberScript) {
	x := lease.NewLease(c, m.noun, p.Pool, "", p.Bind, p.LeaseMS, nil)
	*a = memberAcquisition{
		members: m, params: p, terms: terms, script: s,
		text: memberLease{noun: m.noun, token: x.Token, scope: p.Scope, rule: p.Rule},
	}
	a.Acquisition = lease.Acquisition[PermitAcquireOut, api.PermitAcquireResult]{
		Leases: m.leases, Lines: m.lines, Caller: c, Verb: "acquire", Lease: x, Made: true, Wait: coord.Millis(p.WaitMS),
		LateGrants: lease.FreeUnbound, Terms: a,
	}
	in := a.input()
	a.Line, a.once = in.View.LineKeys, coord.StoredReply(in.Pool.State, c)
	// After a lost reply the lease's member is not known. Giving it back then also leaves the waiting line.
	x.Token, x.Kind = a.text.String(), memberKind{m, in.View.LineKeys}
}

// Decided implements lease.Terms, as do the methods that follow.
func (a *memberAcquisition) Decided(ctx context.Context, r api.PermitAcquireResult, err error) {
	a.leases.Tel.MemberDecided(ctx, a.noun, memberOutcome(r, err))
}

func (a *memberAcquisition) Waited(r *api.PermitAcquireResult, ms int64) bool {
	r.WaitedMS = ms
	return r.Acquired
}

// memberOutcome returns how an acquisition ended, for its metric.
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

// input returns the input of the script. Each combination of scope, rule and policy has a waiting line of its own.
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

// Read returns more if the script could not look at enough members in one run.
func (a *memberAcquisition) Read(ctx context.Context, run *lua.Asked) (lease.Attempt[PermitAcquireOut], bool, error) {
	out, err := a.script.read(ctx, run)
	v := out.Value
	return lease.Attempt[PermitAcquireOut]{
		Outcome: out, Look: lease.Look{Served: v.Acquired || out.Replayed, First: v.First, Free: max(0, coord.CeilMS(v.RetryUS))},
	}, v.More, err
}

// name puts the member into the lease's text. The lease is no longer ambiguous, so its kind
// does not need the waiting line any more.
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

// Replayed answers a call whose request id has a stored reply. That reply is from the time of the first
// grant, which may have ended since, so Replayed renews the lease by its token. A lease that is still held moves to
// the calling session; when the old session then tries to give it back, the script finds lease.StateMoved.
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
