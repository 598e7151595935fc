package coord_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/conformance"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

func TestPoolsConform(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		conformance.Pools(t, newPoolSystem(t, url))
	})
}

func TestPermitsConform(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		conformance.Permits(t, newPoolSystem(t, url))
	})
}

// poolSystem is a system whose sidecars have pools and permits.
type poolSystem struct {
	*rulesSystem
	pools   [2]*coord.Pools
	permits [2]*coord.Permits
}

func newPoolSystem(t *testing.T, url string) *poolSystem {
	t.Helper()
	s := &poolSystem{rulesSystem: newRulesSystem(t, url, false)}
	for i, x := range s.sidecars {
		s.pools[i], s.permits[i] = newPools(x, s.prefix)
	}
	return s
}

// newPools makes both nouns of a sidecar.
func newPools(s *sidecar, prefix string) (*coord.Pools, *coord.Permits) {
	keys := coord.NewKeys(prefix, "")
	return coord.NewPools(s.runner, keys, s.leases, s.lines), coord.NewPermits(coord.PermitsOptions{
		Runner: s.runner, Keys: keys, Rules: s.rules, Policies: s.policies, Leases: s.leases, Lines: s.lines, Breakers: s.breakers,
	})
}

func (s *poolSystem) Pools(t testing.TB, sidecar int, name string) conformance.PoolClient {
	t.Helper()
	c, ok := s.Connect(t, sidecar, name).(*client)
	require.True(t, ok)
	return &poolClient{c, s.pools[sidecar], s.permits[sidecar]}
}

type poolClient struct {
	*client
	pools   *coord.Pools
	permits *coord.Permits
}

func (c *poolClient) PoolPut(ctx context.Context, p api.PoolPutParams) (api.PoolPutResult, error) {
	members := make([]coord.PoolMember, len(p.Members))
	for i, m := range p.Members {
		members[i] = coord.PoolMember{ID: m.ID, Meta: m.Meta}
	}
	r, err := c.pools.Put(ctx, p.Pool, members)
	return api.PoolPutResult{Added: r.Changed, Total: r.Total}, wire(err)
}

func (c *poolClient) PoolRemove(ctx context.Context, p api.PoolRemoveParams) (api.PoolRemoveResult, error) {
	r, err := c.pools.Remove(ctx, p.Pool, p.IDs)
	return api.PoolRemoveResult{Removed: r.Changed, Total: r.Total}, wire(err)
}

func (c *poolClient) PoolList(ctx context.Context, p api.PoolListParams) (api.PoolListResult, error) {
	page, err := c.pools.List(ctx, coord.PoolListRequest{Pool: p.Pool, Scope: p.Scope, Cursor: p.Cursor, Count: orDefault(p.Count, 100)})
	r := api.PoolListResult{Cursor: page.Cursor}
	for _, m := range page.Members {
		r.Members = append(r.Members, api.PoolEntry{
			ID: m.ID, Meta: m.Meta, State: m.State, ForMS: lasting(m.For), HeldBy: holder(m.Holder), LastUsedAtMS: unixMillis(m.LastUsed),
			Failures: m.Failures, Breaker: m.Breaker, PausedForMS: m.PausedFor.Milliseconds(),
		})
	}
	return r, wire(err)
}

func (c *poolClient) PoolStats(ctx context.Context, p api.PoolStatsParams) (api.PoolStatsResult, error) {
	s, err := c.pools.Stats(ctx, p.Pool, p.Scope)
	return api.PoolStatsResult(s), wire(err)
}

func (c *poolClient) PoolTake(ctx context.Context, id string, p api.PoolAcquireParams) (api.PoolAcquireResult, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.open, cancel)()
	g, err := c.pools.Acquire(ctx, c.caller(id, "pool.acquire", p), coord.MemberRequest{
		Pool: p.Pool, Scope: p.Scope, Sticky: p.Sticky, Exclude: p.Exclude,
		Lease: millis(orDefault(p.LeaseMS, 60_000)), Wait: millis(p.WaitMS), Bound: p.Bind != api.BindTTL,
	})
	if err != nil {
		return api.PoolAcquireResult{}, wire(err)
	}
	return api.PoolAcquireResult{
		Acquired: g.Acquired, ID: g.ID, Lease: g.Lease, Fence: fence(g.Fence), Meta: g.Meta, LastUsedAtMS: unixMillis(g.LastUsed),
		RetryAfterMS: lasting(g.RetryAfter), NextAtMS: unixMillis(g.Next), Replayed: g.Replayed, Reason: g.Reason,
	}, nil
}

func (c *poolClient) PoolRenew(ctx context.Context, p api.PoolRenewParams) (api.PoolRenewResult, error) {
	r, err := c.pools.Renew(ctx, c.caller("", "", nil), p.Pool, p.Lease, millis(orDefault(p.LeaseMS, 60_000)))
	return api.PoolRenewResult{Renewed: r.Renewed, LeaseMS: r.Lease.Milliseconds(), Reason: r.Reason}, wire(err)
}

func (c *poolClient) PoolRelease(ctx context.Context, p api.PoolReleaseParams) (api.PoolReleaseResult, error) {
	r, err := c.pools.Release(ctx, c.caller("", "", nil), coord.MemberRelease{
		Pool: p.Pool, Lease: p.Lease, Outcome: orOK(p.Outcome), Cooldown: millis(p.CooldownMS), UnbanAfter: millis(p.UnbanAfterMS),
	})
	return api.PoolReleaseResult{Released: r.Released, Reason: r.Reason, State: r.State, NextAtMS: next(r)}, wire(err)
}

func (c *poolClient) PoolBan(ctx context.Context, p api.PoolBanParams) (api.PoolBanResult, error) {
	changed, err := c.pools.Ban(ctx, p.Pool, p.ID, millis(p.ForMS))
	return api.PoolBanResult{Changed: changed}, wire(err)
}

func (c *poolClient) PoolUnban(ctx context.Context, p api.PoolUnbanParams) (api.PoolBanResult, error) {
	changed, err := c.pools.Unban(ctx, p.Pool, p.ID)
	return api.PoolBanResult{Changed: changed}, wire(err)
}

func (c *poolClient) PermitTake(ctx context.Context, id string, p api.PermitAcquireParams) (api.PermitAcquireResult, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.open, cancel)()
	g, err := c.permits.Acquire(ctx, c.caller(id, "permit.acquire", p), coord.PermitRequest{
		MemberRequest: coord.MemberRequest{
			Pool: p.Pool, Scope: p.Scope, Sticky: p.Sticky, Exclude: p.Exclude,
			Lease: millis(orDefault(p.LeaseMS, 60_000)), Wait: millis(p.WaitMS), Bound: p.Bind != api.BindTTL,
		},
		Rule: p.Rule, Breaker: p.Breaker, Cost: orDefault(p.Cost, 1),
	})
	if err != nil {
		return api.PermitAcquireResult{}, wire(err)
	}
	return api.PermitAcquireResult{
		Acquired: g.Acquired, ID: g.ID, Lease: g.Lease, Fence: fence(g.Fence), Meta: g.Meta, Generation: g.Generation, Probe: g.Probe,
		Remaining: g.Remaining, LastUsedAtMS: unixMillis(g.LastUsed), RetryAfterMS: lasting(g.RetryAfter), NextAtMS: unixMillis(g.Next),
		Replayed: g.Replayed, DeniedBy: g.Reason,
	}, nil
}

func (c *poolClient) PermitReport(ctx context.Context, p api.PermitReportParams) (api.PermitReportResult, error) {
	r, err := c.permits.Report(ctx, c.caller("", "", nil), coord.PermitReport{
		MemberRelease: coord.MemberRelease{
			Pool: p.Pool, Lease: p.Lease, Outcome: orOK(p.Outcome), Cooldown: millis(p.CooldownMS), UnbanAfter: millis(p.UnbanAfterMS),
		},
		Status: p.Status, RetryAfter: millis(p.RetryAfterMS), Took: millis(p.DurationMS),
	})
	return api.PermitReportResult{
		Released: r.Released, Reason: r.Reason, State: r.State, Breaker: r.Breaker, NextAtMS: next(r.MemberReleased),
	}, wire(err)
}

func (c *poolClient) PermitRenew(ctx context.Context, p api.PermitRenewParams) (api.PoolRenewResult, error) {
	r, err := c.permits.Renew(ctx, c.caller("", "", nil), p.Pool, p.Lease, millis(orDefault(p.LeaseMS, 60_000)))
	return api.PoolRenewResult{Renewed: r.Renewed, LeaseMS: r.Lease.Milliseconds(), Reason: r.Reason}, wire(err)
}

func orOK(outcome string) string {
	if outcome == "" {
		return api.OutcomeOK
	}
	return outcome
}

func next(r coord.MemberReleased) int64 {
	if r.Never {
		return -1
	}
	return unixMillis(r.Next)
}

func lasting(d time.Duration) int64 {
	if d == coord.Never {
		return -1
	}
	return d.Milliseconds()
}

func TestTopologyPoolsConform(t *testing.T) {
	redistest.Topologies(t, func(t *testing.T, url string) { conformance.Pools(t, newPoolSystem(t, url)) })
}

func TestTopologyPermitsConform(t *testing.T) {
	redistest.Topologies(t, func(t *testing.T, url string) { conformance.Permits(t, newPoolSystem(t, url)) })
}
