package pool

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
)

// renewing returns the method that sets the time that a lease has left, which may shorten it. The lease may
// be bound to any session.
func (m members) renewing() lease.Renewing[api.PoolRenewParams, RenewIn, RenewOut, api.PoolRenewResult] {
	return lease.Renewing[api.PoolRenewParams, RenewIn, RenewOut, api.PoolRenewResult]{
		Leases: m.leases, Runner: m.runner, Script: RenewScript, Found: found,
		Ask: func(p *api.PoolRenewParams) (lease.ID, time.Duration, RenewIn, error) {
			l, err := parseLease(m.noun, p.Lease)
			if err != nil {
				return lease.ID{}, 0, RenewIn{}, err
			}
			return lease.ID{Noun: m.noun, Name: p.Pool, Token: p.Lease}, coord.Millis(p.LeaseMS), RenewIn{
				Pool: m.keys.poolKeys(p.Pool), Lease: Lease{Token: l.token, Member: l.member}, LeaseMS: p.LeaseMS,
			}, nil
		},
		Result: func(_ time.Duration, f lease.Renewal, v RenewOut) api.PoolRenewResult {
			if !f.Held {
				return api.PoolRenewResult{Reason: f.Reason}
			}
			return api.PoolRenewResult{Renewed: true, LeaseMS: lease.LeftMS(v.LeaseMS, f.Sent), Reason: lease.ReasonRenewed}
		},
	}
}

// found returns what a renewal found, from the output of its script.
func found(v RenewOut) lease.Renewal {
	switch v.State {
	case lease.StateOwned:
		return lease.Renewal{Held: true}
	case lease.StateMoved:
		return lease.Renewal{Moved: true}
	default:
		return lease.Renewal{Reason: lease.NotHeld(v.State)}
	}
}

// releasedLease parses the lease that a release names. It checks what the tags of the contract
// do not check.
func (m *members) releasedLease(p *api.PoolReleaseParams) (memberLease, error) {
	if p.UnbanAfterMS > 0 && p.Outcome != api.OutcomeBan {
		return memberLease{}, coord.Invalid("unban_after_ms: given with the outcome %s; it is of ban alone", p.Outcome)
	}
	return parseLease(m.noun, p.Lease)
}

// releaseResult returns what a release found, and the state of the member after it.
func (m *members) releaseResult(ctx context.Context, did outcome, out ReleaseOut) api.PoolReleaseResult {
	switch out.State {
	case lease.StateOwned:
		m.leases.Tel.MemberReleased(ctx, m.noun, string(did))
	case lease.StateReleased:
	default:
		return api.PoolReleaseResult{Reason: lease.NotHeld(out.State)}
	}
	return api.PoolReleaseResult{Released: true, Reason: lease.ReasonReleased, State: out.Became, NextAtMS: out.NextMS}
}

// releaseIn returns the input that gives a member back, with the outcome of its use if that is known.
func (m *members) releaseIn(pool string, l memberLease) ReleaseIn {
	return ReleaseIn{
		Pool: m.keys.poolKeys(pool), Used: m.keys.used(pool, l.scope), LineKeys: lease.LineKeysOf(m.keys.pool(pool, "none")),
		Lease: Lease{Token: l.token, Member: l.member}, Inboxes: m.keys.Inboxes(),
	}
}

// releaseOf is releaseIn with the outcome that the caller reports.
func (m *members) releaseOf(p *api.PoolReleaseParams, l memberLease) ReleaseIn {
	in := m.releaseIn(p.Pool, l)
	if p.Outcome != api.OutcomeCancelled {
		in.Outcome = p.Outcome
	}
	in.CooldownMS, in.UnbanMS = p.CooldownMS, p.UnbanAfterMS
	return in
}

// memberKind renews members and gives them back. Its waiting line is set only for an ambiguous lease, whose
// call may still have a ticket in it.
type memberKind struct {
	*members
	line lease.LineKeys
}

// RenewHeld implements lease.Kind.
func (k memberKind) RenewHeld(ctx context.Context, due []lease.Hold) []lease.Renewal {
	return lease.RenewBy(ctx, k.runner, RenewScript, due, func(h lease.Hold) RenewIn {
		l, _ := parseLease(k.noun, h.Token) // ours
		return RenewIn{
			Pool: k.keys.poolKeys(h.Name), Lease: Lease{Token: l.token, Member: l.member},
			Session: h.Session, LeaseMS: h.TTL.Milliseconds(),
		}
	}, found)
}

// GiveBackHeld implements lease.Kind. The outcomes of using the members are not known, so none
// is counted.
func (k memberKind) GiveBackHeld(ctx context.Context, gone []lease.Hold) []error {
	return lease.GiveBackBy(ctx, k.runner, ReleaseScript, gone, func(h lease.Hold) ReleaseIn {
		l, _ := parseLease(k.noun, h.Token) // ours, or none
		in := k.releaseIn(h.Name, l)
		in.Session, in.Waiter = h.Session, h.Waiter
		if k.line != (lease.LineKeys{}) {
			in.LineKeys = k.line
		}
		return in
	})
}
