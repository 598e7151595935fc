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
			Lease: millis(p.LeaseMS), Wait: millis(p.WaitMS), Bound: p.Bind == api.BindSession,
		},
		Rule: p.Rule, Breaker: p.Breaker, Cost: p.Cost,
	}, func(g coord.PermitGrant, err error) { done(permitAcquired(g), err) })
}

func permitAcquired(g coord.PermitGrant) api.PermitAcquireResult {
	return api.PermitAcquireResult{
		Acquired: g.Acquired, ID: g.ID, Lease: g.Lease, Fence: fence(g.Fence), Meta: g.Meta,
		Generation: g.Generation, Probe: g.Probe, Remaining: g.Remaining, LastUsedAtMS: unixMillis(g.LastUsed),
		RetryAfterMS: lasting(g.RetryAfter), NextAtMS: unixMillis(g.Next), WaitedMS: g.Waited.Milliseconds(),
		Replayed: g.Replayed, DeniedBy: g.Reason,
	}
}

func permitReport(ctx context.Context, k *call, p *api.PermitReportParams) (api.PermitReportResult, error) {
	r, err := k.services().Permits.Report(ctx, k.caller(), coord.PermitReport{
		MemberRelease: coord.MemberRelease{
			Pool: p.Pool, Lease: p.Lease, Outcome: p.Outcome, Cooldown: millis(p.CooldownMS), UnbanAfter: millis(p.UnbanAfterMS),
		},
		Status: p.Status, RetryAfter: millis(p.RetryAfterMS), Took: millis(p.DurationMS),
	})
	return api.PermitReportResult{
		Released: r.Released, Reason: r.Reason, State: r.State, Breaker: r.Breaker, NextAtMS: nextMillis(r.Next, r.Never),
	}, err
}

func permitRenew(ctx context.Context, k *call, p *api.PermitRenewParams) (api.PoolRenewResult, error) {
	return renewedMember(k.services().Permits.Renew(ctx, k.caller(), p.Pool, p.Lease, millis(p.LeaseMS)))
}
