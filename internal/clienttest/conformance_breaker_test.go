package clienttest_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/conformance"
	"github.com/coxswain-sidecar/coxswain/internal/coord/breaker"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

func TestBreakersConformThroughTheSocket(t *testing.T) {
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

func (w *wireClient) BreakerAllow(ctx context.Context, id string, p api.BreakerAllowParams) (api.BreakerAllowResult, error) {
	return w.Client.BreakerAllow(w.withID(ctx, id), p)
}

func (w *wireClient) BreakerReport(ctx context.Context, id string, p api.BreakerReportParams) (api.BreakerReportResult, error) {
	return w.Client.BreakerReport(w.withID(ctx, id), p)
}
