package coord_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/conformance"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
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
func breakerPolicies(t testing.TB) *coord.BreakerPolicies {
	t.Helper()
	var items []coord.BreakerOptions
	for _, p := range conformance.BreakerPolicies() {
		items = append(items, coord.BreakerOptions{
			Name: p.Name, FailureThreshold: p.FailureThreshold, SuccessThreshold: p.SuccessThreshold,
			Open: millis(p.OpenMS), OpenMax: millis(p.OpenMaxMS), HalfOpenMax: p.HalfOpenMax, ProbeTTL: millis(p.ProbeTTLMS),
			Window: coord.BreakerWindow{
				Length: millis(p.WindowMS), MinCalls: p.MinCalls, FailureRate: p.FailureRate, Slow: millis(p.SlowMS), SlowRate: p.Slow,
			},
		})
	}
	policies := coord.NewBreakerPolicies()
	require.NoError(t, policies.Set(items))
	return policies
}

func (c *client) BreakerAllow(ctx context.Context, id string, p api.BreakerAllowParams) (api.BreakerAllowResult, error) {
	d, err := c.breakers.Allow(ctx, c.caller(id, "breaker.allow", p), breakerRef(p.Name, p.Pool, p.Policy), coord.FailMode(p.FailMode))
	r := api.BreakerAllowResult{
		Allowed: d.Allowed, State: d.State, Generation: d.Generation, Probe: d.Probe, RetryAfterMS: d.RetryAfter.Milliseconds(),
		Degraded: d.Degraded, MaybeExecuted: d.MaybeExecuted, Source: d.Source, Replayed: d.Replayed,
	}
	if d.RetryAfter == coord.Never {
		r.RetryAfterMS = -1
	}
	return r, wire(err)
}

func (c *client) BreakerReport(ctx context.Context, id string, p api.BreakerReportParams) (api.BreakerReportResult, error) {
	s, err := c.breakers.Report(ctx, c.caller(id, "breaker.report", p), coord.BreakerReport{
		BreakerRef: breakerRef(p.Name, p.Pool, p.Policy), Generation: p.Generation, Probe: p.Probe, Outcome: p.Outcome,
		Duration: millis(p.DurationMS),
	})
	return api.BreakerReportResult(s), wire(err)
}

func (c *client) BreakerGet(ctx context.Context, p api.BreakerParams) (api.BreakerGetResult, error) {
	i, err := c.breakers.Get(ctx, breakerRef(p.Name, p.Pool, p.Policy))
	r := api.BreakerGetResult{
		State: i.State, Generation: i.Generation, Policy: i.Policy, Failures: i.Failures, Successes: i.Successes, Probes: i.Probes,
		OpenForMS: i.OpenFor.Milliseconds(), Opened: i.Opened, WindowCalls: i.Calls, WindowFailed: i.Failed, WindowSlow: i.Slow,
	}
	if !i.Changed.IsZero() {
		r.ChangedAtMS = i.Changed.UnixMilli()
	}
	if !i.Forced.IsZero() {
		r.ForcedAtMS = i.Forced.UnixMilli()
	}
	return r, wire(err)
}

func (c *client) BreakerReset(ctx context.Context, p api.BreakerParams) (api.BreakerChangeResult, error) {
	return breakerChange(c.breakers.Reset(ctx, breakerRef(p.Name, p.Pool, p.Policy)))
}

func (c *client) BreakerForce(ctx context.Context, p api.BreakerForceParams) (api.BreakerChangeResult, error) {
	return breakerChange(c.breakers.Force(ctx, breakerRef(p.Name, p.Pool, p.Policy), p.State))
}

func breakerChange(s coord.BreakerState, err error) (api.BreakerChangeResult, error) {
	return api.BreakerChangeResult{State: s.State, Generation: s.Generation, Changed: s.Changed}, wire(err)
}

func breakerRef(name, pool, policy string) coord.BreakerRef {
	return coord.BreakerRef{Name: name, Pool: pool, Policy: policy}
}
