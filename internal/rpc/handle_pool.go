package rpc

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

func poolPut(ctx context.Context, k *call, p *api.PoolPutParams) (api.PoolPutResult, error) {
	members := make([]coord.PoolMember, len(p.Members))
	for i, m := range p.Members {
		members[i] = coord.PoolMember{ID: m.ID, Meta: m.Meta}
	}
	c, err := k.services().Pools.Put(ctx, p.Pool, members)
	return api.PoolPutResult{Added: c.Changed, Total: c.Total}, err
}

func poolRemove(ctx context.Context, k *call, p *api.PoolRemoveParams) (api.PoolRemoveResult, error) {
	c, err := k.services().Pools.Remove(ctx, p.Pool, p.IDs)
	return api.PoolRemoveResult{Removed: c.Changed, Total: c.Total}, err
}

func poolList(ctx context.Context, k *call, p *api.PoolListParams) (api.PoolListResult, error) {
	page, err := k.services().Pools.List(ctx, coord.PoolListRequest{Pool: p.Pool, Scope: p.Scope, Cursor: p.Cursor, Count: p.Count})
	if err != nil {
		return api.PoolListResult{}, err
	}
	r := api.PoolListResult{Members: make([]api.PoolEntry, len(page.Members)), Cursor: page.Cursor}
	for i, m := range page.Members {
		r.Members[i] = api.PoolEntry{
			ID: m.ID, Meta: m.Meta, State: m.State, ForMS: lasting(m.For), HeldBy: holder(m.Holder), LastUsedAtMS: unixMillis(m.LastUsed),
			Failures: m.Failures, Breaker: m.Breaker, PausedForMS: coord.MillisUp(m.PausedFor),
		}
	}
	return r, nil
}

func poolStats(ctx context.Context, k *call, p *api.PoolStatsParams) (api.PoolStatsResult, error) {
	s, err := k.services().Pools.Stats(ctx, p.Pool, p.Scope)
	return api.PoolStatsResult{
		Total: s.Total, Live: s.Live, Cooling: s.Cooling, Banned: s.Banned, Free: s.Free, Waiting: s.Waiting,
	}, err
}

func poolBan(ctx context.Context, k *call, p *api.PoolBanParams) (api.PoolBanResult, error) {
	changed, err := k.services().Pools.Ban(ctx, p.Pool, p.ID, coord.Millis(p.ForMS))
	return api.PoolBanResult{Changed: changed}, err
}

func poolUnban(ctx context.Context, k *call, p *api.PoolUnbanParams) (api.PoolBanResult, error) {
	changed, err := k.services().Pools.Unban(ctx, p.Pool, p.ID)
	return api.PoolBanResult{Changed: changed}, err
}

func poolAcquire(ctx context.Context, k *call, p *api.PoolAcquireParams, done func(api.PoolAcquireResult, error)) {
	k.services().Pools.AcquireThen(ctx, k.caller(), coord.MemberRequest{
		Pool: p.Pool, Scope: p.Scope, Sticky: p.Sticky, Exclude: p.Exclude,
		Lease: coord.Millis(p.LeaseMS), Wait: coord.Millis(p.WaitMS), Bound: p.Bind == api.BindSession,
	}, func(g coord.MemberGrant, err error) { done(poolAcquired(g), err) })
}

func poolAcquired(g coord.MemberGrant) api.PoolAcquireResult {
	return api.PoolAcquireResult{
		Acquired: g.Acquired, ID: g.ID, Lease: g.Lease, Fence: coord.Fence(g.Fence), Meta: g.Meta, LastUsedAtMS: unixMillis(g.LastUsed),
		RetryAfterMS: lasting(g.RetryAfter), NextAtMS: unixMillis(g.Next), WaitedMS: g.Waited.Milliseconds(),
		Replayed: g.Replayed, Reason: g.Reason,
	}
}

func poolRenew(ctx context.Context, k *call, p *api.PoolRenewParams) (api.PoolRenewResult, error) {
	return renewedMember(k.services().Pools.Renew(ctx, k.caller(), p.Pool, p.Lease, coord.Millis(p.LeaseMS)))
}

func poolRelease(ctx context.Context, k *call, p *api.PoolReleaseParams) (api.PoolReleaseResult, error) {
	r, err := k.services().Pools.Release(ctx, k.caller(), coord.MemberRelease{
		Pool: p.Pool, Lease: p.Lease, Outcome: p.Outcome, Cooldown: coord.Millis(p.CooldownMS), UnbanAfter: coord.Millis(p.UnbanAfterMS),
	})
	return api.PoolReleaseResult{Released: r.Released, Reason: r.Reason, State: r.State, NextAtMS: nextMillis(r.Next, r.Never)}, err
}

func renewedMember(r coord.MemberRenewal, err error) (api.PoolRenewResult, error) {
	return api.PoolRenewResult{Renewed: r.Renewed, LeaseMS: r.Lease.Milliseconds(), Reason: r.Reason}, err
}

// lasting is a duration on the wire, rounded up, and -1 for one without an end.
func lasting(d time.Duration) int64 {
	if d == coord.Never {
		return -1
	}
	return coord.MillisUp(d)
}

// nextMillis is an instant on the wire, 0 for now and -1 for none.
func nextMillis(t time.Time, never bool) int64 {
	if never {
		return -1
	}
	return unixMillis(t)
}
