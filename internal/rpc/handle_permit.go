package rpc

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

func permitAcquire(ctx context.Context, k *call, p *api.PermitAcquireParams, done func(api.PermitAcquireResult, error)) {
	k.services().Permits.AcquireThen(ctx, k.caller(), coord.PermitRequest{
		MemberRequest: coord.MemberRequest{
			Pool: p.Pool, Scope: p.Scope, Sticky: p.Sticky, Exclude: p.Exclude,
			Lease: coord.Millis(p.LeaseMS), Wait: coord.Millis(p.WaitMS), Bound: p.Bind == api.BindSession,
		},
		Rule: p.Rule, Breaker: p.Breaker, Cost: p.Cost,
	}, func(g coord.PermitGrant, err error) { done(permitAcquired(g), err) })
}

func permitAcquired(g coord.PermitGrant) api.PermitAcquireResult {
	return api.PermitAcquireResult{
		Acquired: g.Acquired, ID: g.ID, Lease: g.Lease, Fence: coord.Fence(g.Fence), Meta: g.Meta,
		Generation: g.Generation, Probe: g.Probe, Remaining: g.Remaining, LastUsedAtMS: unixMillis(g.LastUsed),
		RetryAfterMS: lasting(g.RetryAfter), NextAtMS: unixMillis(g.Next), WaitedMS: g.Waited.Milliseconds(),
		Replayed: g.Replayed, DeniedBy: g.Reason,
	}
}

func permitReport(ctx context.Context, k *call, p *api.PermitReportParams) (api.PermitReportResult, error) {
	r, err := k.services().Permits.Report(ctx, k.caller(), coord.PermitReport{
		MemberRelease: coord.MemberRelease{
			Pool: p.Pool, Lease: p.Lease, Outcome: p.Outcome, Cooldown: coord.Millis(p.CooldownMS), UnbanAfter: coord.Millis(p.UnbanAfterMS),
		},
		Status: p.Status, RetryAfter: coord.Millis(p.RetryAfterMS), Took: coord.Millis(p.DurationMS),
	})
	return api.PermitReportResult{
		Released: r.Released, Reason: r.Reason, State: r.State, Breaker: r.Breaker, NextAtMS: nextMillis(r.Next, r.Never),
	}, err
}

func permitRenew(ctx context.Context, k *call, p *api.PermitRenewParams) (api.PoolRenewResult, error) {
	return renewedMember(k.services().Permits.Renew(ctx, k.caller(), p.Pool, p.Lease, coord.Millis(p.LeaseMS)))
}
