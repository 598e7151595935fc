package rpc

import (
	"context"
	"strconv"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

func lockAcquire(ctx context.Context, k *call, p *api.LockAcquireParams, done func(api.LockAcquireResult, error)) {
	k.services().Locks.AcquireThen(ctx, k.caller(), coord.LockRequest{
		Name: p.Name, Token: p.Token, TTL: millis(p.TTLMS), Wait: millis(p.WaitMS), Replicas: int(p.WaitReplicas), Bound: p.Bind == api.BindSession,
		MaxHold: millis(p.MaxHoldMS), Meta: p.Meta,
	}, func(g coord.LockGrant, err error) { done(lockAcquired(g), err) })
}

func lockAcquired(g coord.LockGrant) api.LockAcquireResult {
	r := api.LockAcquireResult{
		Acquired: g.Acquired, TTLMS: g.TTL.Milliseconds(), HeldBy: holder(g.Holder),
		WaitedMS: g.Waited.Milliseconds(), Replayed: g.Replayed, Reason: g.Reason,
	}
	if g.Acquired {
		r.Token, r.Fence = g.Token, fence(g.Fence)
	} else {
		r.RetryAfterMS = millisUp(g.RetryAfter)
	}
	return r
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

func lockList(ctx context.Context, k *call, p *api.LockListParams) (api.LockListResult, error) {
	page, err := k.services().Locks.List(ctx, p.Cursor, int(p.Count))
	if err != nil {
		return api.LockListResult{}, err
	}
	r := api.LockListResult{Cursor: page.Cursor, Locks: make([]api.LockEntry, len(page.Locks))}
	for i, l := range page.Locks {
		r.Locks[i] = api.LockEntry{Name: l.Name, Fence: fence(l.Fence), TTLMS: l.TTL.Milliseconds(), HeldBy: holder(l.Holder)}
	}
	return r, nil
}

// lockForceRelease leaves a line in the log, since what it does is to be accounted for.
func lockForceRelease(ctx context.Context, k *call, p *api.LockForceReleaseParams) (api.LockForceReleaseResult, error) {
	f, err := k.services().Locks.ForceRelease(ctx, k.caller(), p.Name, p.Reason)
	if err != nil || !f.Released {
		return api.LockForceReleaseResult{}, err
	}
	by := k.caller().Session.Identity()
	k.conn.log.Warn("a lock was taken from its holder by hand", "lock", p.Name, "reason", p.Reason, "fence", f.Fence,
		"client", by.Client, "instance", by.Instance, "held_by", f.Holder.Client, "held_by_instance", f.Holder.Instance)
	return api.LockForceReleaseResult{Released: true, Fence: fence(f.Fence), HeldBy: holder(f.Holder)}, nil
}

func holder(h *coord.Holder) *api.Holder {
	if h == nil {
		return nil
	}
	return &api.Holder{Client: h.Client, Instance: h.Instance, SinceAtMS: h.Since.UnixMilli(), Meta: h.Meta}
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
