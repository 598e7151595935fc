package rpc

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

func ratelimitAcquire(ctx context.Context, k *call, p *api.RatelimitParams) (api.RatelimitResult, error) {
	return decision(k.services().RateLimiter.Acquire(ctx, k.caller(), limitRequest(p)))
}

func ratelimitPeek(ctx context.Context, k *call, p *api.RatelimitParams) (api.RatelimitResult, error) {
	return decision(k.services().RateLimiter.Peek(ctx, limitRequest(p)))
}

func ratelimitReset(ctx context.Context, k *call, p *api.RatelimitResetParams) (api.RatelimitResetResult, error) {
	was, err := k.services().RateLimiter.Reset(ctx, coord.LimitRef{
		Rule: p.Rule, Algorithm: p.Algorithm, Limits: bands(p.Limits), Key: p.Key,
	})
	return api.RatelimitResetResult{Reset: was}, err
}

func limitRequest(p *api.RatelimitParams) coord.LimitRequest {
	return coord.LimitRequest{
		LimitRef: coord.LimitRef{Rule: p.Rule, Algorithm: p.Algorithm, Limits: bands(p.Limits), Key: p.Key},
		Cost:     p.Cost, Wait: millis(p.WaitMS), FailMode: coord.FailMode(p.FailMode),
	}
}

func bands(in []api.Band) []coord.Band {
	if len(in) == 0 {
		return nil
	}
	out := make([]coord.Band, len(in))
	for i, b := range in {
		out[i] = coord.Band{Limit: b.Limit, Period: millis(b.PeriodMS), Burst: b.Burst}
	}
	return out
}

func decision(d coord.Decision, err error) (api.RatelimitResult, error) {
	if err != nil {
		return api.RatelimitResult{}, err
	}
	r := api.RatelimitResult{
		Allowed: d.Allowed, Rule: d.Rule, Algorithm: d.Algorithm, Band: d.Band,
		Limit: d.Limit, Remaining: d.Remaining, Current: d.Current,
		ResetAfterMS: millisUp(d.ResetAfter),
		RetryAfterMS: -1, WaitedMS: d.Waited.Milliseconds(), DeniedBy: d.DeniedBy, Replayed: d.Replayed,
		Degraded: d.Degraded, MaybeExecuted: d.MaybeExecuted, Source: d.Source,
	}
	if !d.ResetAt.IsZero() {
		r.ResetAtMS = d.ResetAt.UnixMilli()
	}
	if d.RetryAfter != coord.Never {
		r.RetryAfterMS = millisUp(d.RetryAfter)
	}
	return r, nil
}
