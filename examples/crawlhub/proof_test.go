package main_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	main "github.com/coxswain-sidecar/coxswain/examples/crawlhub"
)

const ms = time.Millisecond

// visits returns visits of one identity, each of 10 ms, that arrive at these times, in milliseconds.
func visits(times ...int) []main.Visit {
	var all []main.Visit
	for _, t := range times {
		all = append(all, main.Visit{
			Identity: "a", Arrived: time.Duration(t) * ms, Left: time.Duration(t+10) * ms, Status: http.StatusOK,
		})
	}
	return all
}

// every returns n times, in milliseconds, that are apart milliseconds apart.
func every(apart, n int) []int {
	times := make([]int, n)
	for i := range times {
		times[i] = i * apart
	}
	return times
}

func TestProveFindsEachViolation(t *testing.T) {
	t.Parallel()
	// Two at once, and one every 100 ms.
	rate := main.Rate{Burst: 2, Refill: 10, Period: time.Second}
	other := visits(5)
	other[0].Identity = "b"
	throttled := func(back int) []main.Visit {
		v := visits(0, back)
		v[0].Status, v[0].RetryAfter = http.StatusTooManyRequests, time.Second
		return v
	}
	for name, c := range map[string]struct {
		wrong  string
		visits []main.Visit
	}{
		"no visits":                       {"", nil},
		"at the rate":                     {"", visits(0, 20, 120, 220, 320, 420)},
		"two identities at once":          {"", append(visits(0), other...)},
		"one identity twice at once":      {"a: used twice at once", visits(0, 5)},
		"in another order of the log":     {"a: used twice at once", visits(5, 300, 0)},
		"a slow first request":            {"", visits(0, 20, 40, 140)},
		"one too many at once":            {"a: above its rate: 3 requests", visits(0, 20, 40, 60)},
		"slightly faster":                 {"a: above its rate", visits(every(90, 25)...)},
		"too many of a period":            {"a: above its rate", visits(every(70, 14)...)},
		"back after the Retry-After":      {"", throttled(1010)},
		"back before the Retry-After":     {"a: asked at 10ms to wait for 1s, and back at 990ms", throttled(990)},
		"within the rounding of clocks":   {"", throttled(1009)},
		"many at once after a long pause": {"a: above its rate", visits(0, 5000, 5020, 5040, 5060)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := main.Prove(c.visits, rate)
			if c.wrong == "" {
				require.Empty(t, found)
				return
			}
			require.NotEmpty(t, found)
			require.Contains(t, found[0], c.wrong)
		})
	}
}

func TestProveChecksTheLimitOfAPeriod(t *testing.T) {
	t.Parallel()
	// 80 per period in all: a bucket of 7 that refills 72, and one request under way.
	rate := main.Rate{Burst: 7, Refill: 72, Period: 10 * time.Second}
	require.Empty(t, main.Prove(visits(every(139, 200)...), rate), "7.2 a second refill")
	require.NotEmpty(t, main.Prove(visits(every(120, 81)...), rate))
}
