package coord_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/conformance"
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

// poolSystem is a system whose clients use pools and permits.
type poolSystem struct{ *rulesSystem }

func newPoolSystem(t *testing.T, url string) poolSystem {
	t.Helper()
	return poolSystem{newRulesSystem(t, url, false)}
}

func (s poolSystem) Pools(t testing.TB, sidecar int, name string) conformance.PoolClient {
	t.Helper()
	c, ok := s.Connect(t, sidecar, name).(*client)
	require.True(t, ok)
	return poolClient{c}
}

type poolClient struct{ *client }

func (c poolClient) PoolPut(ctx context.Context, p api.PoolPutParams) (api.PoolPutResult, error) {
	return do(ctx, c.client, "", api.PoolPut, p)
}

func (c poolClient) PoolRemove(ctx context.Context, p api.PoolRemoveParams) (api.PoolRemoveResult, error) {
	return do(ctx, c.client, "", api.PoolRemove, p)
}

func (c poolClient) PoolList(ctx context.Context, p api.PoolListParams) (api.PoolListResult, error) {
	return do(ctx, c.client, "", api.PoolList, p)
}

func (c poolClient) PoolStats(ctx context.Context, p api.PoolStatsParams) (api.PoolStatsResult, error) {
	return do(ctx, c.client, "", api.PoolStats, p)
}

func (c poolClient) PoolTake(ctx context.Context, id string, p api.PoolAcquireParams) (api.PoolAcquireResult, error) {
	return do(ctx, c.client, id, api.PoolAcquire, p)
}

func (c poolClient) PoolRenew(ctx context.Context, p api.PoolRenewParams) (api.PoolRenewResult, error) {
	return do(ctx, c.client, "", api.PoolRenew, p)
}

func (c poolClient) PoolRelease(ctx context.Context, p api.PoolReleaseParams) (api.PoolReleaseResult, error) {
	return do(ctx, c.client, "", api.PoolRelease, p)
}

func (c poolClient) PoolBan(ctx context.Context, p api.PoolBanParams) (api.PoolBanResult, error) {
	return do(ctx, c.client, "", api.PoolBan, p)
}

func (c poolClient) PoolUnban(ctx context.Context, p api.PoolUnbanParams) (api.PoolBanResult, error) {
	return do(ctx, c.client, "", api.PoolUnban, p)
}

func (c poolClient) PermitTake(ctx context.Context, id string, p api.PermitAcquireParams) (api.PermitAcquireResult, error) {
	return do(ctx, c.client, id, api.PermitAcquire, p)
}

func (c poolClient) PermitReport(ctx context.Context, p api.PermitReportParams) (api.PermitReportResult, error) {
	return do(ctx, c.client, "", api.PermitReport, p)
}

func (c poolClient) PermitRenew(ctx context.Context, p api.PermitRenewParams) (api.PoolRenewResult, error) {
	return do(ctx, c.client, "", api.PermitRenew, p)
}

func TestTopologyPoolsConform(t *testing.T) {
	redistest.Topologies(t, func(t *testing.T, url string) { conformance.Pools(t, newPoolSystem(t, url)) })
}

func TestTopologyPermitsConform(t *testing.T) {
	redistest.Topologies(t, func(t *testing.T, url string) { conformance.Permits(t, newPoolSystem(t, url)) })
}
