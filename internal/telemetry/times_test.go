package telemetry_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

func TestTimesAreReadFromTheMetrics(t *testing.T) {
	s := setup(t, telemetry.SetupOptions{})
	ctx := t.Context()
	calls, scripts, err := s.Times(ctx)
	require.NoError(t, err)
	require.Empty(t, calls)
	require.Empty(t, scripts)
	for range 98 { // in the bucket above 1 ms up to 2.5 ms
		s.RPC(ctx, "lock.acquire", "OK", 2*time.Millisecond)
	}
	s.RPC(ctx, "lock.acquire", "CONFLICT", 2*time.Millisecond)
	s.RPC(ctx, "lock.acquire", "UNAVAILABLE", 2*time.Minute)
	s.RPC(ctx, "lock.get", "OK", 75*time.Microsecond)
	s.Script(ctx, "lock_get", "error", 75*time.Microsecond)
	for range 2 { // reading changes nothing
		calls, scripts, err = s.Times(ctx)
		require.NoError(t, err)
		require.Equal(t, []telemetry.Times{
			{
				Name: "lock.acquire", Count: 100, Errors: 2, Sum: 99*2*time.Millisecond + 2*time.Minute,
				P50: 1757575, P99: 2500 * time.Microsecond,
			},
			{Name: "lock.get", Count: 1, Sum: 75 * time.Microsecond, P50: 75 * time.Microsecond, P99: 99500 * time.Nanosecond},
		}, calls)
		require.Equal(t, []telemetry.Times{
			{Name: "lock_get", Count: 1, Errors: 1, Sum: 75 * time.Microsecond, P50: 75 * time.Microsecond, P99: 99500 * time.Nanosecond},
		}, scripts)
	}
	s.RPC(ctx, "lock.get", "OK", time.Hour)
	calls, _, err = s.Times(ctx)
	require.NoError(t, err)
	require.Equal(t, time.Minute, calls[1].P99, "the last bound is all that is known of what is beyond it")
}

func TestTheLastSlowScriptsAreKept(t *testing.T) {
	t.Parallel()
	s := telemetry.Nop()
	s.Script(context.Background(), "quick", "ok", 99*time.Millisecond)
	require.Empty(t, s.SlowScripts())
	for i := range 40 {
		s.Script(context.Background(), fmt.Sprint(i), "ok", 100*time.Millisecond)
	}
	all := s.SlowScripts()
	require.Len(t, all, 32)
	require.Equal(t, []string{"39", "8"}, []string{all[0].Script, all[31].Script})
	require.Equal(t, 100*time.Millisecond, all[0].Took)
	require.Equal(t, "ok", all[0].Outcome)
	require.WithinDuration(t, time.Now(), all[0].At, time.Hour)
}

func TestARingKeepsTheLast(t *testing.T) {
	t.Parallel()
	r := telemetry.NewRing[int](3)
	require.Nil(t, r.Last())
	require.Empty(t, r.List())
	for i := 1; i <= 5; i++ {
		r.Add(i)
		require.Equal(t, i, *r.Last())
		require.Equal(t, []int{i, i - 1, i - 2}[:min(i, 3)], r.List())
	}
}
