package rpc

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

func breakerAllow(ctx context.Context, k *call, p *api.BreakerAllowParams) (api.BreakerAllowResult, error) {
	d, err := k.services().Breakers.Allow(ctx, k.caller(),
		coord.BreakerRef{Name: p.Name, Pool: p.Pool, Policy: p.Policy}, coord.FailMode(p.FailMode))
	if err != nil {
		return api.BreakerAllowResult{}, err
	}
	r := api.BreakerAllowResult{
		Allowed: d.Allowed, State: d.State, Generation: d.Generation, Probe: d.Probe, RetryAfterMS: -1,
		Degraded: d.Degraded, MaybeExecuted: d.MaybeExecuted, Source: d.Source, Replayed: d.Replayed,
	}
	if d.RetryAfter != coord.Never {
		r.RetryAfterMS = coord.MillisUp(d.RetryAfter)
	}
	return r, nil
}

func breakerReport(ctx context.Context, k *call, p *api.BreakerReportParams) (api.BreakerReportResult, error) {
	s, err := k.services().Breakers.Report(ctx, k.caller(), coord.BreakerReport{
		BreakerRef: coord.BreakerRef{Name: p.Name, Pool: p.Pool, Policy: p.Policy}, Generation: p.Generation, Probe: p.Probe,
		Outcome: p.Outcome, Duration: coord.Millis(p.DurationMS),
	})
	if err != nil {
		return api.BreakerReportResult{}, err
	}
	return api.BreakerReportResult{State: s.State, Generation: s.Generation, Changed: s.Changed, Counted: s.Counted, Replayed: s.Replayed}, nil
}

func breakerGet(ctx context.Context, k *call, p *api.BreakerParams) (api.BreakerGetResult, error) {
	i, err := k.services().Breakers.Get(ctx, breakerRef(p))
	if err != nil {
		return api.BreakerGetResult{}, err
	}
	r := api.BreakerGetResult{
		State: i.State, Generation: i.Generation, Policy: i.Policy, Failures: i.Failures, Successes: i.Successes, Probes: i.Probes,
		OpenForMS: coord.MillisUp(i.OpenFor), Opened: i.Opened, WindowCalls: i.Calls, WindowFailed: i.Failed, WindowSlow: i.Slow,
	}
	if !i.Changed.IsZero() {
		r.ChangedAtMS = i.Changed.UnixMilli()
	}
	if !i.Forced.IsZero() {
		r.ForcedAtMS = i.Forced.UnixMilli()
	}
	return r, nil
}

func breakerReset(ctx context.Context, k *call, p *api.BreakerParams) (api.BreakerChangeResult, error) {
	return breakerChange(k.services().Breakers.Reset(ctx, breakerRef(p)))
}

func breakerForce(ctx context.Context, k *call, p *api.BreakerForceParams) (api.BreakerChangeResult, error) {
	return breakerChange(k.services().Breakers.Force(ctx, coord.BreakerRef{Name: p.Name, Pool: p.Pool, Policy: p.Policy}, p.State))
}

func breakerChange(s coord.BreakerState, err error) (api.BreakerChangeResult, error) {
	if err != nil {
		return api.BreakerChangeResult{}, err
	}
	return api.BreakerChangeResult{State: s.State, Generation: s.Generation, Changed: s.Changed}, nil
}

func breakerRef(p *api.BreakerParams) coord.BreakerRef {
	return coord.BreakerRef{Name: p.Name, Pool: p.Pool, Policy: p.Policy}
}
