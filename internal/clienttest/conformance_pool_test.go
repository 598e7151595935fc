package clienttest_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/conformance"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

func TestPoolsConformThroughTheSocket(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		conformance.Pools(t, poolSystem{newRulesSystem(t, url, false)})
	})
}

func TestPermitsConformThroughTheSocket(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		conformance.Permits(t, poolSystem{newRulesSystem(t, url, false)})
	})
}

// poolSystem is a system whose clients use pools and permits.
type poolSystem struct{ *rulesSystem }

func (s poolSystem) Pools(t testing.TB, sidecar int, name string) conformance.PoolClient {
	t.Helper()
	w, ok := s.Connect(t, sidecar, name).(*wireClient)
	require.True(t, ok)
	return poolClient{w}
}

type poolClient struct{ *wireClient }

func (c poolClient) PoolTake(ctx context.Context, id string, p api.PoolAcquireParams) (api.PoolAcquireResult, error) {
	return client.Call(c.withID(ctx, id), c.Client, api.PoolAcquire, p)
}

func (c poolClient) PoolRenew(ctx context.Context, p api.PoolRenewParams) (api.PoolRenewResult, error) {
	return client.Call(ctx, c.Client, api.PoolRenew, p)
}

func (c poolClient) PoolRelease(ctx context.Context, p api.PoolReleaseParams) (api.PoolReleaseResult, error) {
	return client.Call(ctx, c.Client, api.PoolRelease, p)
}

func (c poolClient) PermitTake(ctx context.Context, id string, p api.PermitAcquireParams) (api.PermitAcquireResult, error) {
	return client.Call(c.withID(ctx, id), c.Client, api.PermitAcquire, p)
}

func (c poolClient) PermitReport(ctx context.Context, p api.PermitReportParams) (api.PermitReportResult, error) {
	return client.Call(ctx, c.Client, api.PermitReport, p)
}

func (c poolClient) PermitRenew(ctx context.Context, p api.PermitRenewParams) (api.PoolRenewResult, error) {
	return client.Call(ctx, c.Client, api.PermitRenew, p)
}
