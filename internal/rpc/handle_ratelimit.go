package rpc

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

func ratelimitAcquire(ctx context.Context, k *call, p *api.RatelimitParams) (api.RatelimitResult, error) {
	if p.Pool != "" {
		return k.services().Permits.Charge(ctx, k.caller(), p, false)
	}
	return decision(k.services().RateLimiter.Acquire(ctx, k.caller(), limitRequest(p)))
}

// ratelimitAcquireThen is ratelimitAcquire of a call that may wait.
func ratelimitAcquireThen(ctx context.Context, k *call, p *api.RatelimitParams, done func(api.RatelimitResult, error)) {
	if p.Pool != "" {
		done(ratelimitAcquire(ctx, k, p))
		return
	}
	k.services().RateLimiter.AcquireThen(ctx, k.caller(), limitRequest(p), func(d coord.Decision, err error) { done(decision(d, err)) })
}

func ratelimitPeek(ctx context.Context, k *call, p *api.RatelimitParams) (api.RatelimitResult, error) {
	if p.Pool != "" {
		return k.services().Permits.Charge(ctx, coord.Caller{}, p, true)
	}
	return decision(k.services().RateLimiter.Peek(ctx, limitRequest(p)))
}

func ratelimitAcquireMany(ctx context.Context, k *call, p *api.RatelimitManyParams) (api.RatelimitManyResult, error) {
	items := make([]coord.LimitRequest, len(p.Items))
	for i, it := range p.Items {
		items[i] = coord.LimitRequest{
			LimitRef: limitRef(it.Rule, it.Algorithm, it.Limits, it.Key, it.Group),
			Cost:     it.Cost, FailMode: coord.FailMode(it.FailMode),
		}
	}
	all, err := k.services().RateLimiter.AcquireMany(ctx, k.caller(), items, p.Atomic)
	if err != nil {
		return api.RatelimitManyResult{}, err
	}
	r := api.RatelimitManyResult{Results: make([]api.RatelimitItemResult, len(all))}
	for i, x := range all {
		if x.Err != nil {
			r.Results[i].Error = k.itemError(x.Err)
			continue
		}
		d, _ := decision(x.Decision, nil)
		r.Results[i].Result = &d
	}
	return r, nil
}

func ratelimitAcquireAny(ctx context.Context, k *call, p *api.RatelimitAnyParams) (api.RatelimitAnyResult, error) {
	key, d, err := k.services().RateLimiter.AcquireAny(ctx, k.caller(), coord.AnyRequest{
		LimitRequest: coord.LimitRequest{
			LimitRef: limitRef(p.Rule, p.Algorithm, p.Limits, "", ""), Cost: p.Cost, FailMode: coord.FailMode(p.FailMode),
		},
		Keys: p.Keys,
	})
	r, err := decision(d, err)
	return api.RatelimitAnyResult{Key: key, Result: r}, err
}

func ratelimitRefund(ctx context.Context, k *call, p *api.RatelimitGrantParams) (api.RatelimitRefundResult, error) {
	r, err := k.services().RateLimiter.Refund(ctx, k.caller(), p.Grant)
	return api.RatelimitRefundResult{Refunded: r.Refunded, Reason: r.Reason}, err
}

func ratelimitDone(ctx context.Context, k *call, p *api.RatelimitGrantParams) (api.RatelimitDoneResult, error) {
	done, err := k.services().RateLimiter.Done(ctx, k.caller(), p.Grant)
	return api.RatelimitDoneResult{Done: done}, err
}

func ratelimitReset(ctx context.Context, k *call, p *api.RatelimitResetParams) (api.RatelimitResetResult, error) {
	if p.Pool != "" {
		return k.services().Permits.Forget(ctx, k.caller(), p)
	}
	was, err := k.services().RateLimiter.Reset(ctx, limitRef(p.Rule, p.Algorithm, p.Limits, p.Key, p.Group))
	return api.RatelimitResetResult{Reset: was}, err
}

func limitRequest(p *api.RatelimitParams) coord.LimitRequest {
	return coord.LimitRequest{
		LimitRef: limitRef(p.Rule, p.Algorithm, p.Limits, p.Key, p.Group),
		Cost:     p.Cost, Wait: coord.Millis(p.WaitMS), FailMode: coord.FailMode(p.FailMode),
	}
}

func limitRef(rule, algorithm string, limits []api.Band, key, group string) coord.LimitRef {
	return coord.LimitRef{Rule: rule, Algorithm: algorithm, Limits: bands(limits), Key: key, Group: group}
}

func bands(in []api.Band) []coord.Band {
	if len(in) == 0 {
		return nil
	}
	out := make([]coord.Band, len(in))
	for i, b := range in {
		out[i] = coord.Band{Limit: b.Limit, Period: coord.Millis(b.PeriodMS), Burst: b.Burst}
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
		ResetAfterMS: coord.MillisUp(d.ResetAfter),
		RetryAfterMS: -1, WaitedMS: d.Waited.Milliseconds(), DeniedBy: d.DeniedBy, Shadow: d.Shadow,
		Grant: d.Grant, Held: d.Held, Replayed: d.Replayed,
		Degraded: d.Degraded, MaybeExecuted: d.MaybeExecuted, Source: d.Source,
	}
	if !d.ResetAt.IsZero() {
		r.ResetAtMS = d.ResetAt.UnixMilli()
	}
	if d.RetryAfter != coord.Never {
		r.RetryAfterMS = coord.MillisUp(d.RetryAfter)
	}
	return r, nil
}
