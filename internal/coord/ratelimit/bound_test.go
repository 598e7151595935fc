package ratelimit_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/coordtest"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// pressed is an admission as a client records it: its cost, and its instant by Redis's clock (us).
type pressed struct{ at, cost int64 }

// ceiling returns the most that an algorithm may let through from an admission at from to one at to (us), both
// included.
type ceiling func(b api.Band, from, to int64) float64

// rated is the ceiling capacity + rate x time, of one more microsecond, since slots are rounded up to whole ones.
func rated(capacity int64) ceiling {
	return func(b api.Band, from, to int64) float64 {
		return float64(capacity) + float64(b.Limit)*float64(to-from+1)/float64(b.PeriodMS*1000)
	}
}

// windowed is the ceiling of an algorithm that lets through at most most in any window of one period. A longer span
// counts as several such windows.
func windowed(most int64) ceiling {
	return func(b api.Band, from, to int64) float64 {
		return float64(most * ((to-from)/(b.PeriodMS*1000) + 1))
	}
}

// TestAdmissionBoundOfEveryAlgorithm has 20 clients of three sidecars use one key. It checks what was admitted from
// every admission to every later one. COXSWAIN_BOUND_FOR is how long each algorithm is tested, such as 30s.
func TestAdmissionBoundOfEveryAlgorithm(t *testing.T) {
	t.Parallel()
	length := 2 * time.Second
	if text := os.Getenv("COXSWAIN_BOUND_FOR"); text != "" {
		var err error
		length, err = time.ParseDuration(text)
		require.NoError(t, err)
	}
	b := band(40, 500*time.Millisecond)
	leaky := b
	leaky.Burst = 5
	for algorithm, c := range map[string]struct {
		band api.Band
		most ceiling
	}{
		"token_bucket":           {b, rated(b.Limit)},
		"leaky_bucket":           {leaky, rated(leaky.Burst)},
		"fixed_window":           {b, windowed(2 * b.Limit)},
		"sliding_window_log":     {b, windowed(b.Limit)},
		"sliding_window_counter": {b, windowed(2 * b.Limit)},
	} {
		t.Run(algorithm, func(t *testing.T) {
			t.Parallel()
			log := press(t, api.RatelimitParams{Algorithm: algorithm, Limits: []api.Band{c.band}, Key: "k"}, length)
			t.Logf("%d admissions", len(log))
			require.NotEmpty(t, log)
			broken := ""
			for i := range log {
				sum := int64(0)
				for _, x := range log[i:] {
					sum += x.cost
					if most := c.most(c.band, log[i].at, x.at); float64(sum) > most+1e-6 && broken == "" {
						broken = fmt.Sprintf("%d from %d to %d: at most %.3f", sum, log[i].at, x.at, most)
					}
				}
			}
			require.Empty(t, broken)
			if algorithm == "fixed_window" {
				windows := map[int64]int64{}
				for _, x := range log {
					windows[x.at/(b.PeriodMS*1000)] += x.cost
				}
				for start, sum := range windows {
					require.LessOrEqual(t, sum, b.Limit, "window %d", start)
				}
			}
		})
	}
}

// press lets 20 clients of three sidecars call a limit as often as they can, and returns the admissions in order. If
// the algorithm promises slots, every fourth client waits for them.
func press(t *testing.T, ref api.RatelimitParams, length time.Duration) []pressed {
	prefix := redistest.Prefix(t)
	var limiters []*ratelimit.Limiter
	for range 3 {
		limiters = append(limiters, coordtest.New(t, luatest.Open(t, lua.Options{URL: redistest.URL(t)}), prefix).Limiter)
	}
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	logs := make([][]pressed, 20)
	var clients sync.WaitGroup
	for i := range logs {
		clients.Go(func() {
			rng := rand.New(rand.NewPCG(5, uint64(i)))
			for ctx.Err() == nil {
				p := by(coord.FailClosed, ref, 1+rng.Int64N(3))
				if i%4 == 0 && ref.Algorithm != "sliding_window_counter" {
					p.WaitMS = 200
				}
				d, err := limiters[i%3].Acquire(t.Context(), coord.Caller{}, p)
				if err != nil {
					t.Error(err)
					return
				}
				if !d.Allowed {
					continue
				}
				g, err := ratelimit.GrantOf(d.Grant)
				if err != nil {
					t.Error(err)
					return
				}
				logs[i] = append(logs[i], pressed{g.At, g.Cost})
			}
		})
	}
	clients.Wait()
	log := slices.Concat(logs...)
	slices.SortFunc(log, func(a, b pressed) int { return int(a.at - b.at) })
	return log
}
