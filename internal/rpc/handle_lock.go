package rpc

import (
	"context"
	"strconv"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

func lockAcquire(ctx context.Context, k *call, p *api.LockAcquireParams) (api.LockAcquireResult, error) {
	g, err := k.services().Locks.Acquire(ctx, k.caller(), coord.LockRequest{
		Name: p.Name, Token: p.Token, TTL: millis(p.TTLMS), Wait: millis(p.WaitMS), Replicas: int(p.WaitReplicas), Bound: p.Bind == api.BindSession,
	})
	if err != nil {
		return api.LockAcquireResult{}, err
	}
	r := api.LockAcquireResult{
		Acquired: g.Acquired, TTLMS: g.TTL.Milliseconds(), HeldBy: holder(g.Holder),
		WaitedMS: g.Waited.Milliseconds(), Replayed: g.Replayed, Reason: g.Reason,
	}
	if g.Acquired {
		r.Token, r.Fence = g.Token, fence(g.Fence)
	} else {
		r.RetryAfterMS = millisUp(g.RetryAfter)
	}
	return r, nil
}

func lockRenew(ctx context.Context, k *call, p *api.LockRenewParams) (api.LockRenewResult, error) {
	r, err := k.services().Locks.Renew(ctx, k.caller(), p.Name, p.Token, millis(p.TTLMS))
	if err != nil {
		return api.LockRenewResult{}, err
	}
	return api.LockRenewResult{
		Renewed: r.Renewed, Fence: fence(r.Fence), TTLMS: r.TTL.Milliseconds(), Reason: r.Reason,
	}, nil
}

func lockRelease(ctx context.Context, k *call, p *api.LockReleaseParams) (api.LockReleaseResult, error) {
	r, err := k.services().Locks.Release(ctx, k.caller(), p.Name, p.Token)
	if err != nil {
		return api.LockReleaseResult{}, err
	}
	return api.LockReleaseResult{Released: r.Released, Reason: r.Reason}, nil
}

func lockGet(ctx context.Context, k *call, p *api.LockGetParams) (api.LockGetResult, error) {
	i, err := k.services().Locks.Get(ctx, p.Name)
	if err != nil || !i.Held {
		return api.LockGetResult{Waiting: i.Waiting}, err
	}
	return api.LockGetResult{
		Held: true, Fence: fence(i.Fence), Waiting: i.Waiting, TTLMS: i.TTL.Milliseconds(), HeldBy: holder(i.Holder),
	}, nil
}

func holder(h *coord.Holder) *api.Holder {
	if h == nil {
		return nil
	}
	return &api.Holder{Client: h.Client, Instance: h.Instance, SinceAtMS: h.Since.UnixMilli()}
}

// fence is text on the wire, since it may pass 2^53; 0 is none.
func fence(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

func millis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// millisUp rounds up, so that waiting that long is enough.
func millisUp(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}
