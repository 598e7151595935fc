package coord_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coordtest"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// callers runs op from 1, 64 and 256 goroutines; each call of op gets a higher number.
func callers(b *testing.B, op func(n int64) error) {
	for _, n := range []int{1, 64, 256} {
		b.Run(fmt.Sprintf("callers=%d", n), func(b *testing.B) {
			var calls atomic.Int64
			done := make(chan error, n)
			b.ReportAllocs()
			b.ResetTimer()
			for range n {
				go func() {
					for {
						i := calls.Add(1)
						if i > int64(b.N) {
							done <- nil
							return
						}
						if err := op(i); err != nil {
							done <- err
							return
						}
					}
				}()
			}
			for range n {
				if err := <-done; err != nil {
					b.Error(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
		})
	}
}

// BenchmarkLimiterAcquire is workload L: a million per second, 10,000 keys.
func BenchmarkLimiterAcquire(b *testing.B) {
	s := coordtest.New(b, luatest.Open(b, lua.Options{URL: redistest.URL(b)}), redistest.Prefix(b))
	bands := []api.Band{{Limit: 1_000_000, PeriodMS: 1000}, {Limit: 10_000_000, PeriodMS: 60_000}}
	if err := s.Rules.Set([]api.Rule{
		{Name: "one", Algorithm: api.AlgorithmTokenBucket, Limits: bands[:1]}, {Name: "two", Algorithm: api.AlgorithmTokenBucket, Limits: bands},
	}, 1); err != nil {
		b.Fatal(err)
	}
	keys := make([]string, 10_000)
	for i := range keys {
		keys[i] = fmt.Sprint("key-", i)
	}
	for name, ref := range map[string]api.RatelimitParams{
		"one_band": {Rule: "one"}, "two_bands": {Rule: "two"}, "in_full": {Algorithm: api.AlgorithmTokenBucket, Limits: bands[:1]},
	} {
		b.Run(name, func(b *testing.B) {
			callers(b, func(n int64) error {
				r := ref
				r.Key, r.Cost = keys[n%int64(len(keys))], 1
				_, err := s.Limiter.Acquire(b.Context(), coord.Caller{}, &r)
				return err
			})
		})
	}
}

// BenchmarkLockAcquireRelease acquires and releases locks for which no other caller asks.
func BenchmarkLockAcquireRelease(b *testing.B) {
	s := coordtest.New(b, luatest.Open(b, lua.Options{URL: redistest.URL(b)}), redistest.Prefix(b))
	session := s.Leases.Open(coord.Identity{Client: "bench"}, func(coord.Loss) {})
	c := coord.Caller{Session: session}
	callers(b, func(n int64) error {
		name := fmt.Sprint("lock-", n%10_000)
		g, err := s.Locks.Acquire(b.Context(), c, coordtest.Bound(name, 30*time.Second))
		if err != nil {
			return err
		}
		_, err = s.Locks.Release(b.Context(), c, &api.LockReleaseParams{Name: name, Token: g.Token})
		return err
	})
}
