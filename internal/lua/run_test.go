package lua_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lock"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

func TestCallsAreAnsweredFromTheFirstMoment(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		r := luatest.Open(t, lua.Options{URL: url})
		before := time.Now()
		out, err := take(luatest.Deadline(t), r, redistest.Prefix(t), 3)
		require.NoError(t, err)
		require.True(t, out.Value.Admitted())
		require.EqualValues(t, 2, out.Value.Remaining)
		require.False(t, out.Replayed)
		require.False(t, out.Sent.Before(before))
		require.False(t, out.Sent.After(time.Now()))
		require.True(t, r.Status().Up)
	})
}

func TestConcurrentCallsAreAllCounted(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		const callers, each = 64, 20
		r, key := luatest.Open(t, lua.Options{URL: url}), redistest.Prefix(t)
		errs := make(chan error, callers)
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				for range each {
					if _, err := take(luatest.Deadline(t), r, key, 1_000_000); err != nil {
						errs <- err
						return
					}
				}
			})
		}
		wg.Wait()
		close(errs)
		require.NoError(t, errors.Join(drain(errs)...))
		require.EqualValues(t, callers*each, spent(t, r, key, 1_000_000))
	})
}

func drain[T any](c <-chan T) (all []T) {
	for v := range c {
		all = append(all, v)
	}
	return all
}

func TestStoredReplyRunsOnceAndRefusesOtherParameters(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		r, key := luatest.Open(t, lua.Options{URL: url}), redistest.Prefix(t)
		stored := lua.StoredReply{Key: key + ":idem", Fingerprint: "f1"}
		first, err := lua.Run(luatest.Deadline(t), r, ratelimit.TokenBucketScript, bucket(key, 9), stored)
		require.NoError(t, err)
		require.False(t, first.Replayed)
		second, err := lua.Run(luatest.Deadline(t), r, ratelimit.TokenBucketScript, bucket(key, 9), stored)
		require.NoError(t, err)
		require.True(t, second.Replayed)
		require.Equal(t, first.Value, second.Value)
		stored.Fingerprint = "f2"
		_, err = lua.Run(luatest.Deadline(t), r, ratelimit.TokenBucketScript, bucket(key, 9), stored)
		require.ErrorIs(t, err, lua.ErrConflict)
		require.EqualValues(t, 1, spent(t, r, key, 9))
	})
}

func TestStoredReplyIsKeptFromScriptsThatTakeNone(t *testing.T) {
	t.Parallel()
	a := startActor(t)
	r := luatest.Open(t, lua.Options{URL: a.url})
	_, err := lua.Run(luatest.Deadline(t), r, ratelimit.ResetScript, ratelimit.ResetIn{State: "k", Channel: "c"}, lua.StoredReply{Key: "idem", Fingerprint: "f"})
	require.NoError(t, err)
	a.mu.Lock()
	defer a.mu.Unlock()
	require.Equal(t, []string{ratelimit.ResetScript.SHA(), "1", "k", "c"}, a.args)
}

func TestBatchKeepsTheOrderOfItsInputs(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		const n = 300 // two pipelines
		r, key := luatest.Open(t, lua.Options{URL: url}), redistest.Prefix(t)
		ins := make([]lock.AcquireIn, n)
		for i := range ins {
			ins[i] = lock.AcquireIn{Lock: fmt.Sprint(key, i), LineKeys: lease.LineKeysOf(fmt.Sprint(key, i)), Token: fmt.Sprint("t", i%2), TTLMS: 60_000, Client: fmt.Sprint("c", i)}
		}
		before := time.Now()
		outs, errs := lua.Batch(luatest.Deadline(t), r, lock.AcquireScript, ins)
		require.Len(t, outs, n)
		require.NoError(t, errors.Join(errs...))
		for i := range ins {
			ins[i].Client, ins[i].Token = "x", "t1" // only every second one holds it
			require.True(t, outs[i].Value.Acquired)
			require.False(t, outs[i].Sent.Before(before))
		}
		outs, errs = lua.Batch(luatest.Deadline(t), r, lock.AcquireScript, ins)
		require.NoError(t, errors.Join(errs...))
		for i := range ins {
			require.Equal(t, i%2 == 1, outs[i].Value.Acquired, i)
			if i%2 == 0 {
				require.Equal(t, fmt.Sprint("c", i), outs[i].Value.Client)
			}
		}
	})
}

func TestBatchOfNothing(t *testing.T) {
	t.Parallel()
	outs, errs := lua.Batch(luatest.Deadline(t), luatest.Open(t, lua.Options{URL: redis.Embedded}), lock.GetScript, nil)
	require.Empty(t, outs)
	require.Empty(t, errs)
}

func TestScriptsRunOnTheTestsClock(t *testing.T) {
	t.Parallel()
	now := luatest.Epoch
	r := luatest.Open(t, lua.Options{URL: redis.Embedded, Clock: func() int64 { return now }})
	out, err := take(luatest.Deadline(t), r, "k", 5)
	require.NoError(t, err)
	require.Equal(t, luatest.Epoch, out.Value.NowUS)
	now += 17
	stored := lua.StoredReply{Key: "k:idem", Fingerprint: "f"}
	out, err = lua.Run(luatest.Deadline(t), r, ratelimit.TokenBucketScript, bucket("k", 5), stored)
	require.NoError(t, err)
	require.Equal(t, luatest.Epoch+17, out.Value.NowUS)
}

// command sends a command that runs no script.
func command(t *testing.T, r *lua.Runner, args ...any) any {
	t.Helper()
	try := redis.Try{Args: args}
	require.True(t, r.Route(luatest.Deadline(t), &try, false), "%v", try.Failure.Err)
	try.Send(luatest.Deadline(t))
	require.NoError(t, try.Failure.Err)
	return try.Reply
}

func TestEmbeddedStoreEndsTTLs(t *testing.T) {
	t.Parallel()
	r := luatest.Open(t, lua.Options{URL: redis.Embedded})
	command(t, r, "set", "short", "v", "px", 20)
	command(t, r, "set", "long", "v", "px", 3_600_000)
	ctx := luatest.Deadline(t)
	for command(t, r, "exists", "short") == int64(1) { // keys expire by the store's own clock, which runs by itself
		require.NoError(t, ctx.Err())
	}
	require.EqualValues(t, 1, command(t, r, "exists", "long"))
}

func TestFaultOfAScriptIsNeitherUnavailableNorRetried(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		r, key := luatest.Open(t, lua.Options{URL: url}), redistest.Prefix(t)
		// A lock where a bucket should be.
		_, err := lua.Run(luatest.Deadline(t), r, lock.AcquireScript, lock.AcquireIn{Lock: key + "l", LineKeys: lease.LineKeysOf(key + "l"), Token: "t", TTLMS: 9999}, lua.StoredReply{})
		require.NoError(t, err)
		_, err = lua.Run(luatest.Deadline(t), r, ratelimit.ChargeScript("token_bucket"), ratelimit.In{State: key + "l", Pace: key + "lpace", Charge: ratelimit.Charge{Cost: 1, Signature: "nonsense"}}, lua.StoredReply{})
		require.Error(t, err)
		require.NotErrorIs(t, err, redis.ErrUnavailable)
		require.NotErrorIs(t, err, redis.ErrMaybeExecuted)
		require.ErrorContains(t, err, "ratelimit_token_bucket_bands")
	})
}

func TestContextThatHasEndedRunsNothing(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		r, key := luatest.Open(t, lua.Options{URL: url}), redistest.Prefix(t)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err := take(ctx, r, key, 5)
		require.ErrorIs(t, err, context.Canceled)
		require.NotErrorIs(t, err, redis.ErrMaybeExecuted)
		_, errs := lua.Batch(ctx, r, ratelimit.TokenBucketScript, []ratelimit.TokenBucketIn{bucket(key, 5)})
		require.ErrorIs(t, errs[0], context.Canceled)
		require.NotErrorIs(t, errs[0], redis.ErrMaybeExecuted)
		require.Zero(t, spent(t, r, key, 5))
	})
}

func logTo(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }
