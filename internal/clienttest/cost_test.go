package clienttest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

// By the contract a Cost of 0 in Go is charged as 1. To charge nothing, a program peeks, or sends the
// 0 in a raw call.
func TestACostOfZeroIsOneThatWasNotSet(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, luatest.Open(t, lua.Options{URL: redis.Embedded}), "p"), client.Options{})
	bands := []api.Band{{Limit: 100, PeriodMS: 86_400_000}}
	p := api.RatelimitParams{Key: "k", Algorithm: api.AlgorithmFixedWindow, Limits: bands}
	left := func() int64 {
		t.Helper()
		r, err := c.RatelimitPeek(t.Context(), p)
		require.NoError(t, err)
		return r.Remaining
	}
	require.Equal(t, []int64{100, 100}, []int64{left(), left()}, "a look takes nothing")
	_, err := c.RatelimitAcquire(t.Context(), p)
	require.NoError(t, err)
	require.EqualValues(t, 99, left())
	_, err = c.RatelimitAcquireMany(t.Context(), api.RatelimitManyParams{Items: []api.RatelimitItem{{Key: "k", Algorithm: p.Algorithm, Limits: bands}}})
	require.NoError(t, err)
	require.EqualValues(t, 98, left())
	_, err = c.RatelimitAcquireAny(t.Context(), api.RatelimitAnyParams{Keys: []string{"k"}, Algorithm: p.Algorithm, Limits: bands})
	require.NoError(t, err)
	require.EqualValues(t, 97, left())

	var r api.RatelimitResult
	require.NoError(t, c.CallRaw(t.Context(), "ratelimit.acquire", map[string]any{
		"key": "k", "algorithm": p.Algorithm, "limits": bands, "cost": 0,
	}, &r))
	require.True(t, r.Allowed)
	require.EqualValues(t, 97, left())
}
