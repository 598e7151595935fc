package redis_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

func TestTheHistoryShowsAnOutage(t *testing.T) {
	t.Parallel()
	r := redistest.Start(t)
	s := open(t, redis.Options{URL: r.URL()})
	// found waits until the last probe found Redis up, or down.
	found := func(up bool) {
		t.Helper()
		require.Eventually(t, func() bool {
			all := s.History()
			return len(all) > 0 && all[0].Up == up
		}, time.Minute, 10*time.Millisecond)
	}
	found(true)
	require.Positive(t, s.History()[0].RTT)
	r.Stop()
	found(false)
	r.Restart()
	found(true)
	all := s.History()
	for i := 1; i < len(all); i++ {
		require.Greater(t, all[i-1].At.Unix(), all[i].At.Unix(), "one for each second, the latest first")
	}
	require.Contains(t, ups(all), false)
}

func TestTheProbesOfASecondAreOneResult(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli
	require.Equal(t, []redis.Probed{
		{At: at(3100), Up: true, RTT: 1},
		{At: at(1900), Up: false, RTT: 7},
	}, redis.Probes(
		redis.Probed{At: at(1000), Up: true, RTT: 5},
		redis.Probed{At: at(1500), Up: false, RTT: 7},
		redis.Probed{At: at(1900), Up: true, RTT: 6},
		redis.Probed{At: at(3100), Up: true, RTT: 1},
	), "down if one found it down, and the longest round trip")
}

func ups(all []redis.Probed) (ups []bool) {
	for _, p := range all {
		ups = append(ups, p.Up)
	}
	return ups
}
