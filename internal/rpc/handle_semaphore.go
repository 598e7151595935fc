package rpc

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

func semaphoreAcquire(ctx context.Context, k *call, p *api.SemaphoreAcquireParams, done func(api.SemaphoreAcquireResult, error)) {
	k.services().Semaphores.AcquireThen(ctx, k.caller(), coord.SemaphoreRequest{
		LockRequest: coord.LockRequest{
			Name: p.Name, Token: p.Token, TTL: coord.Millis(p.TTLMS), Wait: coord.Millis(p.WaitMS), Replicas: int(p.WaitReplicas),
			Bound: p.Bind == api.BindSession, MaxHold: coord.Millis(p.MaxHoldMS), Meta: p.Meta,
		},
		Limit: p.Limit, Permits: p.Permits,
	}, func(g coord.SemaphoreGrant, err error) { done(semaphoreAcquired(g), err) })
}

func semaphoreAcquired(g coord.SemaphoreGrant) api.SemaphoreAcquireResult {
	r := api.SemaphoreAcquireResult{
		Acquired: g.Acquired, TTLMS: g.TTL.Milliseconds(), Free: g.Free,
		WaitedMS: g.Waited.Milliseconds(), Replayed: g.Replayed, Reason: g.Reason,
	}
	if g.Acquired {
		r.Token, r.Fence = g.Token, coord.Fence(g.Fence)
	} else {
		r.RetryAfterMS = coord.MillisUp(g.RetryAfter)
	}
	return r
}

func semaphoreRenew(ctx context.Context, k *call, p *api.SemaphoreRenewParams) (api.SemaphoreRenewResult, error) {
	r, err := k.services().Semaphores.Renew(ctx, k.caller(), p.Name, p.Token, coord.Millis(p.TTLMS))
	if err != nil {
		return api.SemaphoreRenewResult{}, err
	}
	return api.SemaphoreRenewResult{
		Renewed: r.Renewed, Fence: coord.Fence(r.Fence), TTLMS: r.TTL.Milliseconds(), Reason: r.Reason,
	}, nil
}

func semaphoreRelease(ctx context.Context, k *call, p *api.SemaphoreReleaseParams) (api.SemaphoreReleaseResult, error) {
	r, err := k.services().Semaphores.Release(ctx, k.caller(), p.Name, p.Token)
	if err != nil {
		return api.SemaphoreReleaseResult{}, err
	}
	return api.SemaphoreReleaseResult{Released: r.Released, Reason: r.Reason}, nil
}

func semaphoreGet(ctx context.Context, k *call, p *api.SemaphoreGetParams) (api.SemaphoreGetResult, error) {
	i, err := k.services().Semaphores.Get(ctx, p.Name)
	if err != nil {
		return api.SemaphoreGetResult{}, err
	}
	r := api.SemaphoreGetResult{Held: i.Held, Waiting: i.Waiting, Holders: make([]api.SemaphoreHolder, len(i.Holders))}
	for n, h := range i.Holders {
		r.Holders[n] = api.SemaphoreHolder{Permits: h.Permits, Fence: coord.Fence(h.Fence), TTLMS: h.TTL.Milliseconds(), HeldBy: holder(h.Holder)}
	}
	return r, nil
}
