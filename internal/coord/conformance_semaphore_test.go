package coord_test

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

func (c *client) LockList(ctx context.Context, p api.LockListParams) (api.LockListResult, error) {
	return do(ctx, c, "", api.LockList, p)
}

func (c *client) LockForceRelease(ctx context.Context, p api.LockForceReleaseParams) (api.LockForceReleaseResult, error) {
	return do(ctx, c, "", api.LockForceRelease, p)
}

func (c *client) SemaphoreAcquire(ctx context.Context, id string, p api.SemaphoreAcquireParams) (api.SemaphoreAcquireResult, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.open, cancel)()
	g, err := c.sems.Acquire(ctx, c.caller(id, "semaphore.acquire", p), coord.SemaphoreRequest{
		LockRequest: coord.LockRequest{
			Name: p.Name, Token: p.Token, TTL: millis(orDefault(p.TTLMS, 30_000)), Wait: millis(p.WaitMS), Replicas: int(p.WaitReplicas),
			Bound: p.Bind != api.BindTTL, MaxHold: millis(p.MaxHoldMS), Meta: p.Meta,
		},
		Limit: p.Limit, Permits: orDefault(p.Permits, 1),
	})
	if err != nil {
		return api.SemaphoreAcquireResult{}, wire(err)
	}
	return api.SemaphoreAcquireResult{
		Acquired: g.Acquired, Token: g.Token, Fence: fence(g.Fence), TTLMS: g.TTL.Milliseconds(), Free: g.Free,
		RetryAfterMS: g.RetryAfter.Milliseconds(), Replayed: g.Replayed, Reason: g.Reason,
	}, nil
}

func (c *client) SemaphoreRenew(ctx context.Context, p api.SemaphoreRenewParams) (api.SemaphoreRenewResult, error) {
	r, err := c.sems.Renew(ctx, c.caller("", "", nil), p.Name, p.Token, millis(orDefault(p.TTLMS, 30_000)))
	return api.SemaphoreRenewResult{Renewed: r.Renewed, Fence: fence(r.Fence), TTLMS: r.TTL.Milliseconds(), Reason: r.Reason}, wire(err)
}

func (c *client) SemaphoreRelease(ctx context.Context, p api.SemaphoreReleaseParams) (api.SemaphoreReleaseResult, error) {
	r, err := c.sems.Release(ctx, c.caller("", "", nil), p.Name, p.Token)
	return api.SemaphoreReleaseResult{Released: r.Released, Reason: r.Reason}, wire(err)
}

func (c *client) SemaphoreGet(ctx context.Context, p api.SemaphoreGetParams) (api.SemaphoreGetResult, error) {
	i, err := c.sems.Get(ctx, p.Name)
	r := api.SemaphoreGetResult{Held: i.Held, Waiting: i.Waiting}
	for _, h := range i.Holders {
		r.Holders = append(r.Holders, api.SemaphoreHolder{Permits: h.Permits, Fence: fence(h.Fence), TTLMS: h.TTL.Milliseconds(), HeldBy: holder(h.Holder)})
	}
	return r, wire(err)
}
