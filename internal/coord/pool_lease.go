package coord

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// renewOne has a lease, in whatever session, live so long from now on, shorter or
// longer than before.
func (m *members) renewOne(ctx context.Context, p *api.PoolRenewParams) (api.PoolRenewResult, error) {
	l, err := parseLease(m.noun, p.Lease)
	if err != nil {
		return api.PoolRenewResult{}, err
	}
	op := m.noun + " " + p.Pool + ": renew"
	// Looked up before the script: a lease that is granted while it runs is
	// another one, and not lost by what the script finds.
	x, err := m.leases.claim(ctx, leaseID{m.noun, p.Pool, p.Lease})
	if err != nil {
		return api.PoolRenewResult{}, Failed(op, err)
	}
	out, err := lua.Run(ctx, m.runner, lua.PoolRenew, lua.PoolRenewIn{
		PoolKeys: m.keys.poolKeys(p.Pool), PoolLease: lua.PoolLease{Token: l.token, Member: l.member}, LeaseMS: p.LeaseMS,
	}, lua.Latch{})
	if err != nil {
		m.leases.unclaim(x)
		return api.PoolRenewResult{}, Failed(op, err)
	}
	if out.Value.State == lua.LockOwned {
		m.leases.extend(x, Millis(p.LeaseMS), renewal{sent: out.Sent})
		return api.PoolRenewResult{Renewed: true, LeaseMS: leftMS(out.Value.LeaseMS, out.Sent), Reason: ReasonRenewed}, nil
	}
	reason := notHeld(out.Value.State)
	m.leases.lose(x, reason)
	return api.PoolRenewResult{Reason: reason}, nil
}

// releasedLease reads the lease that a release names. It checks what the contract's
// tags do not.
func (m *members) releasedLease(p *api.PoolReleaseParams) (memberLease, error) {
	if p.UnbanAfterMS > 0 && p.Outcome != api.OutcomeBan {
		return memberLease{}, invalid("unban_after_ms: given with the outcome %s; it is of ban alone", p.Outcome)
	}
	return parseLease(m.noun, p.Lease)
}

// releaseResult says what a release found, and what the member is since.
func (m *members) releaseResult(ctx context.Context, p *api.PoolReleaseParams, out lua.PoolReleaseOut) api.PoolReleaseResult {
	switch out.State {
	case lua.LockOwned:
		m.leases.tel.MemberReleased(ctx, m.noun, p.Outcome)
	case lua.LockReleased:
	default:
		return api.PoolReleaseResult{Reason: notHeld(out.State)}
	}
	return api.PoolReleaseResult{Released: true, Reason: ReasonReleased, State: out.Became, NextAtMS: out.NextMS}
}

// releaseIn is what gives a member back, with how it did if that is known.
func (m *members) releaseIn(pool string, l memberLease) lua.PoolReleaseIn {
	return lua.PoolReleaseIn{
		PoolKeys: m.keys.poolKeys(pool), Used: m.keys.used(pool, l.scope), LineKeys: lineKeys(m.keys.pool(pool, "none")),
		PoolLease: lua.PoolLease{Token: l.token, Member: l.member}, Inboxes: m.keys.inboxes(),
	}
}

// releaseOf is releaseIn with what the caller says of it.
func (m *members) releaseOf(p *api.PoolReleaseParams, l memberLease) lua.PoolReleaseIn {
	in := m.releaseIn(p.Pool, l)
	if p.Outcome != api.OutcomeCancelled {
		in.Outcome = p.Outcome
	}
	in.CooldownMS, in.UnbanMS = p.CooldownMS, p.UnbanAfterMS
	return in
}

// memberKind is how members are renewed and given back. The line is that of who
// waited, and only of what is in doubt.
type memberKind struct {
	*members
	line lua.LineKeys
}

// RenewHeld implements Kind.
func (k memberKind) RenewHeld(ctx context.Context, due []hold) []renewal {
	return renewBy(ctx, k.runner, lua.PoolRenew, due, func(h hold) lua.PoolRenewIn {
		l, _ := parseLease(k.noun, h.token) // ours
		return lua.PoolRenewIn{
			PoolKeys: k.keys.poolKeys(h.name), PoolLease: lua.PoolLease{Token: l.token, Member: l.member},
			Session: h.session, LeaseMS: h.ttl.Milliseconds(),
		}
	}, func(v lua.PoolRenewOut) renewal {
		switch v.State {
		case lua.LockOwned:
			return renewal{held: true}
		case lua.LockMoved:
			return renewal{moved: true}
		default:
			return renewal{reason: notHeld(v.State)}
		}
	})
}

// GiveBackHeld implements Kind. Nobody says how the members did, so that nothing
// of that is counted.
func (k memberKind) GiveBackHeld(ctx context.Context, gone []hold) []error {
	return giveBackBy(ctx, k.runner, lua.PoolRelease, gone, func(h hold) lua.PoolReleaseIn {
		l, _ := parseLease(k.noun, h.token) // ours, or none
		in := k.releaseIn(h.name, l)
		in.Session, in.Waiter = h.session, h.waiter
		if k.line != (lua.LineKeys{}) {
			in.LineKeys = k.line
		}
		return in
	})
}
