package lua_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// BenchmarkRun compares a call through the runner with a bare loop over go-redis's pipeline on the same keys, for the
// figure P7: the processor time that the runner adds.
func BenchmarkRun(b *testing.B) {
	url, prefix := redistest.URL(b), redistest.Prefix(b)
	keys := make([]string, 10_000)
	for i := range keys {
		keys[i] = fmt.Sprint(prefix, i)
	}
	charge := func(i int64) ratelimit.TokenBucketIn {
		return ratelimit.TokenBucketIn{
			State: keys[i%10_000], Pace: keys[i%10_000] + "pace", Cost: 1, Revision: 1, Signature: "1000000:1000:1000000",
			Capacity: 1_000_000, L: 1, P: 1,
		}
	}
	r := luatest.Open(b, lua.Options{URL: url})
	_, err := lua.Run(luatest.Deadline(b), r, ratelimit.TokenBucketScript, charge(0), lua.StoredReply{})
	require.NoError(b, err)
	loop := bareLoop(b, url)
	_, args := lua.InputOf(ratelimit.TokenBucketScript, charge(0))
	for _, callers := range []int{1, 4, 64, 256} {
		for name, call := range map[string]func(context.Context, int64) error{
			"runner": func(ctx context.Context, i int64) error {
				_, err := lua.Run(ctx, r, ratelimit.TokenBucketScript, charge(i), lua.StoredReply{})
				return err
			},
			"loop": func(ctx context.Context, i int64) error {
				return loop(ctx, keys[i%10_000], args...)
			},
		} {
			b.Run(fmt.Sprintf("%s-%d", name, callers), func(b *testing.B) { measure(b, callers, call) })
		}
	}
}

func measure(b *testing.B, callers int, call func(context.Context, int64) error) {
	b.ReportAllocs()
	var next atomic.Int64
	errs := make(chan error, callers)
	used := processorTime(b)
	b.ResetTimer()
	for range callers {
		go func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
				err := call(ctx, i)
				cancel()
				if err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range callers {
		require.NoError(b, <-errs)
	}
	b.StopTimer()
	b.ReportMetric(float64((processorTime(b)-used).Nanoseconds())/float64(b.N)/1000, "cpu-us/op")
}

// processorTime returns the processor time that this process has used; Redis is another process.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// bareLoop runs EVALSHA over an AutoPipeliner and does nothing else.
func bareLoop(b *testing.B, url string) func(ctx context.Context, key string, args ...any) error {
	opt, err := redis.ParseURL(url)
	require.NoError(b, err)
	opt.Protocol, opt.MaxRetries = 2, -1
	opt.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	c := redis.NewClient(opt)
	b.Cleanup(func() { require.NoError(b, c.Close()) })
	p, err := c.AsyncAutoPipeline()
	require.NoError(b, err)
	sha := ratelimit.TokenBucketScript.SHA()
	return func(ctx context.Context, key string, args ...any) error {
		return p.EvalSha(ctx, sha, []string{key, key + "pace"}, args...).Err()
	}
}
