package coord_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/conformance"
	"github.com/coxswain-sidecar/coxswain/internal/coord/breaker"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

func TestBreakersConform(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		conformance.Breakers(t, newSystem(t, url))
	})
}

// breakerPolicies are those of the suite.
func breakerPolicies(t testing.TB) *breaker.Policies {
	t.Helper()
	policies := breaker.NewPolicies()
	require.NoError(t, policies.Set(conformance.BreakerPolicies()))
	return policies
}

func (c *client) BreakerAllow(ctx context.Context, id string, p api.BreakerAllowParams) (api.BreakerAllowResult, error) {
	return do(ctx, c, id, api.BreakerAllow, p)
}

func (c *client) BreakerReport(ctx context.Context, id string, p api.BreakerReportParams) (api.BreakerReportResult, error) {
	return do(ctx, c, id, api.BreakerReport, p)
}

func (c *client) BreakerGet(ctx context.Context, p api.BreakerParams) (api.BreakerGetResult, error) {
	return do(ctx, c, "", api.BreakerGet, p)
}

func (c *client) BreakerReset(ctx context.Context, p api.BreakerParams) (api.BreakerChangeResult, error) {
	return do(ctx, c, "", api.BreakerReset, p)
}

func (c *client) BreakerForce(ctx context.Context, p api.BreakerForceParams) (api.BreakerChangeResult, error) {
	return do(ctx, c, "", api.BreakerForce, p)
}
