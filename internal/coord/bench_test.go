package coord_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// callers runs op from 1, 64 and 256 goroutines; op gets a number that rises.
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
	s := newSidecar(b, openRunner(b, lua.Options{URL: redistest.URL(b)}), redistest.Prefix(b))
	if err := s.rules.Set([]api.Rule{
		rule("one", band(1_000_000, time.Second)), rule("two", band(1_000_000, time.Second), band(10_000_000, time.Minute)),
	}, 1); err != nil {
		b.Fatal(err)
	}
	keys := make([]string, 10_000)
	for i := range keys {
		keys[i] = fmt.Sprint("key-", i)
	}
	for name, ref := range map[string]api.RatelimitParams{
		"one_band": byRule("one", ""), "two_bands": byRule("two", ""), "in_full": inFull("", band(1_000_000, time.Second)),
	} {
		b.Run(name, func(b *testing.B) {
			callers(b, func(n int64) error {
				r := ref
				r.Key = keys[n%int64(len(keys))]
				_, err := s.limiter.Acquire(b.Context(), coord.Caller{}, asks(r, 1))
				return err
			})
		})
	}
}

// BenchmarkLockAcquireRelease takes and gives back locks that nobody else wants.
func BenchmarkLockAcquireRelease(b *testing.B) {
	s := newSidecar(b, openRunner(b, lua.Options{URL: redistest.URL(b)}), redistest.Prefix(b))
	session := s.leases.Open(coord.Identity{Client: "bench"}, func(coord.Loss) {})
	c := coord.Caller{Session: session}
	callers(b, func(n int64) error {
		name := fmt.Sprint("lock-", n%10_000)
		g, err := s.locks.Acquire(b.Context(), c, bound(name, 30*time.Second))
		if err != nil {
			return err
		}
		_, err = s.locks.Release(b.Context(), c, &api.LockReleaseParams{Name: name, Token: g.Token})
		return err
	})
}
