package conformance

import (
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// inFullApart: limits given in full that differ in any band share nothing but
// the key's pause, whatever is done to one of them.
func inFullApart(l limiter) {
	hour, second := per(100, time.Hour), per(10, time.Second)
	several := []api.Band{per(10, time.Second), per(20, time.Minute)}
	taken := l.acquire(90, hour)
	require.True(l.t, l.acquire(1, second).Allowed)
	require.True(l.t, l.acquire(2, several...).Allowed, "one band in common is another limit")
	left := func(of ...api.Band) int64 { return l.peek(1, of...).Remaining }
	require.Equal(l.t, []int64{10, 9, 8}, []int64{left(hour), left(second), left(several...)})
	require.Equal(l.t, int64(100), left(per(100, 30*time.Minute)), "another period")

	require.False(l.t, l.acquire(11, hour).Allowed)
	require.True(l.t, l.acquire(9, second).Allowed, "the refusal of one is not remembered of the other")
	many := l.params(1, second)
	items := make([]api.RatelimitItem, 0, 2)
	for _, b := range []api.Band{hour, second} {
		items = append(items, api.RatelimitItem{Algorithm: many.Algorithm, Limits: l.bands([]api.Band{b}), Key: l.key, Cost: 1})
	}
	results, err := acquireMany(patient(l.t), l.client, "", api.RatelimitManyParams{Items: items})
	require.NoError(l.t, err)
	require.True(l.t, results[0].Result.Allowed)
	require.False(l.t, results[1].Result.Allowed)
	require.Equal(l.t, int64(9), left(hour))
	first, err := do(patient(l.t), l.client, "", api.RatelimitAcquireAny, api.RatelimitAnyParams{
		Algorithm: many.Algorithm, Limits: l.bands([]api.Band{hour}), Keys: []string{l.key}, Cost: 2,
	})
	require.NoError(l.t, err)
	require.True(l.t, first.Result.Allowed)
	require.Equal(l.t, "refunded", l.refund(l.client, first.Result.Grant).Reason)
	require.Equal(l.t, []int64{9, 0, 8}, []int64{left(hour), left(second), left(several...)})
	require.Equal(l.t, "refunded", l.refund(l.sys.Connect(l.t, 1, "limits"), taken.Grant).Reason)
	require.Equal(l.t, []int64{99, 0, 8}, []int64{left(hour), left(second), left(several...)})

	r, err := do(patient(l.t), l.client, "", api.RatelimitReset, api.RatelimitResetParams{
		Algorithm: many.Algorithm, Limits: l.bands([]api.Band{second}), Key: l.key,
	})
	require.NoError(l.t, err)
	require.True(l.t, r.Reset)
	require.Equal(l.t, []int64{99, 10, 8}, []int64{left(hour), left(second), left(several...)})
	l.pause(api.RatelimitPauseParams{ForMS: 1000})
	for _, of := range [][]api.Band{{hour}, {second}, several} {
		require.Equal(l.t, "pause", l.peek(1, of...).DeniedBy, "a pause is the key's")
	}
}

// inFullSame: a limit written in different ways is the same limit.
func inFullSame(l limiter) {
	bands := []api.Band{per(10, time.Minute), per(20, time.Hour)}
	require.True(l.t, l.acquire(4, bands...).Allowed)
	other := l.other()
	slices.Reverse(bands)
	require.Equal(l.t, int64(5), other.acquire(1, bands...).Remaining, "the bands in another order")
	if l.algorithm == api.AlgorithmTokenBucket {
		bands[0].Burst = bands[0].Limit
		require.Equal(l.t, int64(4), other.acquire(1, bands...).Remaining, "with the default written out")
	}
}
