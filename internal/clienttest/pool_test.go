package clienttest_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

// Calls of ratelimit.* and breaker.* that name a pool's member act on the limit and the breaker by which its permits
// are granted.
func TestALimitAndABreakerOfAMember(t *testing.T) {
	t.Parallel()
	s := newSystem(t, redis.Embedded, false)
	s.SetFile(t, 0, "file", api.Rule{Name: "two", Algorithm: api.AlgorithmTokenBucket, Limits: []api.Band{{Limit: 2, PeriodMS: 3_600_000}}})
	c := dial(t, s.sockets[0], client.Options{})
	ctx := t.Context()
	_, err := c.PoolPut(ctx, api.PoolPutParams{Pool: "p", Members: []api.PoolMember{{ID: "x"}}})
	require.NoError(t, err)
	in := api.RatelimitParams{Pool: "p", Rule: "two", Key: "x"}
	taken, err := c.RatelimitAcquire(ctx, in)
	require.NoError(t, err)
	require.True(t, taken.Allowed)
	require.Equal(t, int64(1), taken.Remaining)
	o := client.PermitOptions{Rule: "two", Breaker: "default"}
	why := func() string {
		t.Helper()
		p, err := c.PermitAcquire(ctx, "p", o)
		var busy *client.BusyError
		if errors.As(err, &busy) {
			return busy.Reason
		}
		require.NoError(t, err)
		require.NoError(t, p.Release(ctx, client.Outcome{Kind: api.OutcomeCancelled}))
		return ""
	}
	require.Empty(t, why())
	require.Equal(t, "limit", why(), "the one that was left is taken")
	peek, err := c.RatelimitPeek(ctx, in)
	require.NoError(t, err)
	require.Equal(t, "limit", peek.DeniedBy)
	reset, err := client.Call(ctx, c, api.RatelimitReset, api.RatelimitResetParams{Pool: "p", Rule: "two", Key: "x"})
	require.NoError(t, err)
	require.True(t, reset.Reset)
	require.Empty(t, why(), "at once")

	_, err = client.Call(ctx, c, api.RatelimitPause, api.RatelimitPauseParams{Pool: "p", Key: "x", ForMS: 60_000})
	require.NoError(t, err)
	require.Equal(t, "pause", why())
	was, err := client.Call(ctx, c, api.RatelimitResume, api.RatelimitResumeParams{Pool: "p", Key: "x"})
	require.NoError(t, err)
	require.True(t, was.Resumed)
	reported, err := client.Call(ctx, c, api.RatelimitReport, api.RatelimitReportParams{Pool: "p", Rule: "two", Key: "x", Status: 503, RetryAfterMS: 5000})
	require.NoError(t, err)
	require.Equal(t, int64(5000), reported.WaitMS)
	_, err = client.Call(ctx, c, api.RatelimitResume, api.RatelimitResumeParams{Pool: "p", Key: "x"})
	require.NoError(t, err)

	_, err = client.Call(ctx, c, api.BreakerForce, api.BreakerForceParams{Pool: "p", Name: "x", State: "open"})
	require.NoError(t, err)
	require.Equal(t, "open", why())
	_, err = client.Call(ctx, c, api.BreakerReset, api.BreakerParams{Pool: "p", Name: "x"})
	require.NoError(t, err)
	require.Empty(t, why(), "at once")

	for want, p := range map[string]api.RatelimitParams{
		"group":   {Pool: "p", Rule: "two", Key: "x", Group: "g"},
		"rule":    {Pool: "p", Key: "x"},
		"wait_ms": {Pool: "p", Rule: "two", Key: "x", WaitMS: 1},
	} {
		_, err := c.RatelimitAcquire(ctx, p)
		require.ErrorIs(t, err, api.InvalidArgument, want)
		require.ErrorContains(t, err, want+": ")
	}
	_, err = c.RatelimitAcquire(ctx, api.RatelimitParams{Pool: "p", Rule: "two", Key: "nobody"})
	require.ErrorIs(t, err, api.NotFound)
}
