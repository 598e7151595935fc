package api_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

func TestDurationsBecomeMilliseconds(t *testing.T) {
	t.Parallel()
	require.Equal(t, api.Band{Limit: 80, PeriodMS: 600_000}, api.Per(80, 10*time.Minute))
	require.Equal(t, api.Band{Limit: 80, PeriodMS: 1000, Burst: 5}, api.Per(80, time.Second).WithBurst(5))
	require.Equal(t, int64(1), api.Millis(time.Nanosecond), "rounded up: 0 is a default")
	require.Equal(t, int64(0), api.Millis(0))
	require.Equal(t, int64(1500), api.Millis(1500*time.Millisecond))
}

func TestRetryAfterDistinguishesNeverFromNow(t *testing.T) {
	t.Parallel()
	after, ok := api.RatelimitResult{RetryAfterMS: 1500}.RetryAfter()
	require.True(t, ok)
	require.Equal(t, 1500*time.Millisecond, after)
	_, ok = api.RatelimitResult{RetryAfterMS: -1}.RetryAfter()
	require.False(t, ok)
}
