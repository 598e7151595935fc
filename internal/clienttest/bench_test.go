package clienttest_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// Sidecar and client run in one process here, so the allocations are those of
// both; `make bench` measures a sidecar in a process of its own.

func BenchmarkPing(b *testing.B) {
	c := benchClient(b)
	callers(b, func(ctx context.Context, _ int) error {
		_, err := c.Ping(ctx)
		return err
	})
}

func BenchmarkRatelimitAcquire(b *testing.B) {
	c := benchClient(b)
	limits := []api.Band{{Limit: 1_000_000, PeriodMS: 1000}}
	callers(b, func(ctx context.Context, i int) error {
		_, err := c.RatelimitAcquire(ctx, api.RatelimitParams{Algorithm: api.AlgorithmTokenBucket, Key: strconv.Itoa(i % 10_000), Limits: limits})
		return err
	})
}

func BenchmarkLockAcquireRelease(b *testing.B) {
	c := benchClient(b)
	callers(b, func(ctx context.Context, i int) error {
		lk, err := c.LockAcquire(ctx, strconv.Itoa(i), client.LockOptions{})
		if err != nil {
			return err
		}
		return lk.Release(ctx)
	})
}

func benchClient(b *testing.B) *client.Client {
	socket := serve(b, luatest.Open(b, lua.Options{URL: redistest.URL(b)}), redistest.Prefix(b))
	return dial(b, socket, client.Options{})
}

// callers runs call from 1 and from 64 goroutines.
func callers(b *testing.B, call func(ctx context.Context, i int) error) {
	for _, n := range []int{1, 64} {
		b.Run(fmt.Sprintf("callers=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			ctx := context.Background()
			require.NoError(b, call(ctx, 0))
			var next atomic.Int64
			var wg sync.WaitGroup
			b.ResetTimer()
			for range n {
				wg.Go(func() {
					for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
						if err := call(ctx, int(i)); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
		})
	}
}
