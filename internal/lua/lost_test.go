package lua_test

import (
	"context"
	"errors"
	"fmt"
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
)

func TestLostReplyWithoutAStoredReplyIsReportedAndNotRunAgain(t *testing.T) {
	t.Parallel()
	p, r, witness, key := luatest.BehindProxy(t, lua.Options{})
	p.Lose(luatest.Plan{})
	_, err := take(luatest.Deadline(t), r, key, 50)
	require.ErrorIs(t, err, redis.ErrMaybeExecuted)
	require.NotErrorIs(t, err, redis.ErrUnavailable)
	require.EqualValues(t, 1, spent(t, witness, key, 50))
}

func TestLostReplyWithAStoredReplyIsCountedOnceAndAnswered(t *testing.T) {
	t.Parallel()
	p, r, witness, key := luatest.BehindProxy(t, lua.Options{})
	p.Lose(luatest.Plan{})
	out, err := lua.Run(luatest.Deadline(t), r, ratelimit.TokenBucketScript, bucket(key, 50), lua.StoredReply{Key: key + ":idem", Fingerprint: "f"})
	require.NoError(t, err)
	require.True(t, out.Replayed)
	require.True(t, out.Value.Admitted())
	require.EqualValues(t, 1, spent(t, witness, key, 50))
}

func TestLostReplyOfAnIdempotentScriptIsFetchedByAnotherRun(t *testing.T) {
	t.Parallel()
	p, r, _, key := luatest.BehindProxy(t, lua.Options{})
	in := lock.AcquireIn{Lock: key, LineKeys: lease.LineKeysOf(key), Token: "t", TTLMS: 60_000}
	p.Lose(luatest.Plan{})
	before := time.Now()
	out, err := lua.Run(luatest.Deadline(t), r, lock.AcquireScript, in, lua.StoredReply{})
	require.NoError(t, err)
	require.True(t, out.Value.Acquired)
	require.False(t, out.Replayed)
	require.True(t, out.Sent.After(before))
	again, err := lua.Run(luatest.Deadline(t), r, lock.AcquireScript, in, lua.StoredReply{})
	require.NoError(t, err)
	require.Equal(t, out.Value.Fence, again.Value.Fence)
}

func TestSentIsTheTimeOfTheTryThatAnswered(t *testing.T) {
	t.Parallel()
	p, r, _, key := luatest.BehindProxy(t, lua.Options{})
	p.Lose(luatest.Plan{})
	done := make(chan time.Time, 1)
	go func() {
		out, _ := lua.Run(luatest.Deadline(t), r, lock.AcquireScript, lock.AcquireIn{Lock: key, LineKeys: lease.LineKeysOf(key), Token: "t", TTLMS: 60_000}, lua.StoredReply{})
		done <- out.Sent
	}()
	<-p.Saw // the first try has been written
	first := time.Now()
	require.True(t, (<-done).After(first))
}

func TestRepliesLostInsideABatchOfCallersAreNeverCountedTwice(t *testing.T) {
	t.Parallel()
	const callers, each, losses = 32, 40, 12
	for _, stored := range []bool{false, true} {
		t.Run(fmt.Sprintf("stored=%v", stored), func(t *testing.T) {
			t.Parallel()
			p, r, witness, key := luatest.BehindProxy(t, lua.Options{})
			var mu sync.Mutex
			var ok, maybe int64
			var others []error
			var wg sync.WaitGroup
			for c := range callers {
				wg.Go(func() {
					for i := range each {
						var once lua.StoredReply
						if stored {
							once = lua.StoredReply{Key: fmt.Sprintf("%s:idem:%d.%d", key, c, i), Fingerprint: "f"}
						}
						_, err := lua.Run(luatest.Deadline(t), r, ratelimit.TokenBucketScript, bucket(key, 1_000_000), once)
						mu.Lock()
						switch {
						case err == nil:
							ok++
						case errors.Is(err, redis.ErrMaybeExecuted):
							maybe++
						default:
							others = append(others, err)
						}
						mu.Unlock()
					}
				})
			}
			for i := range losses {
				p.Lose(luatest.Plan{Pass: i * 7}) // cuts before, between and inside replies
				<-p.Saw
			}
			wg.Wait()
			require.Empty(t, others)
			counted := spent(t, witness, key, 1_000_000)
			if stored {
				require.EqualValues(t, callers*each, ok)
				require.EqualValues(t, callers*each, counted)
				return
			}
			require.Positive(t, maybe)
			require.LessOrEqual(t, ok, counted)
			require.LessOrEqual(t, counted, ok+maybe)
		})
	}
}

func TestRepliesLostWithinABatchFailOnlyTheirCalls(t *testing.T) {
	t.Parallel()
	p, r, witness, key := luatest.BehindProxy(t, lua.Options{})
	ins := make([]ratelimit.TokenBucketIn, 100)
	for i := range ins {
		ins[i] = bucket(key, 1000)
	}
	p.Lose(luatest.Plan{Pass: 500})
	outs, errs := lua.Batch(luatest.Deadline(t), r, ratelimit.TokenBucketScript, ins)
	var ok int
	for i, err := range errs {
		if err == nil {
			require.Equal(t, ok, i, "answers come in order, so none follows a lost one")
			require.EqualValues(t, 1000-i-1, outs[i].Value.Remaining)
			ok++
			continue
		}
		require.ErrorIs(t, err, redis.ErrMaybeExecuted)
	}
	require.Positive(t, ok)
	require.Less(t, ok, 100)
	require.EqualValues(t, 100, spent(t, witness, key, 1000), "the whole batch was run, once")
}

// noise collects the log's text.
type noise struct {
	mu   sync.Mutex // guards text
	text []byte
}

func (n *noise) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.text = append(n.text, p...)
	return len(p), nil
}

func (n *noise) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return string(n.text)
}

func TestOneSilentConnectionIsNoOutage(t *testing.T) {
	t.Parallel()
	var log noise
	p, r, witness, key := luatest.BehindProxy(t, lua.Options{CommandTimeout: 4 * time.Second, Log: logTo(&log)})
	p.Lose(luatest.Plan{Mute: true})
	_, err := take(luatest.Deadline(t), r, key, 50)
	require.ErrorIs(t, err, redis.ErrMaybeExecuted)
	_, err = take(luatest.Deadline(t), r, key, 50)
	require.NoError(t, err)
	require.True(t, r.Status().Up)
	require.NotContains(t, log.String(), "redis is down")
	require.EqualValues(t, 2, spent(t, witness, key, 50))
}

func TestDeadlineThatEndsAfterSendingLeavesAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	p, r, witness, key := luatest.BehindProxy(t, lua.Options{})
	p.Lose(luatest.Plan{Mute: true})
	var err error
	// A busy machine may not have sent it in the time: the outcome is known then, and the plan is for the next try.
	for within := 500 * time.Millisecond; within < time.Minute && !errors.Is(err, redis.ErrMaybeExecuted); within *= 2 {
		ctx, cancel := context.WithTimeout(context.Background(), within)
		_, err = take(ctx, r, key, 50)
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
	require.ErrorIs(t, err, redis.ErrMaybeExecuted)
	require.EqualValues(t, 1, spent(t, witness, key, 50))
}

func TestCancelledWaitInThePipelineReturnsAtOnceAndIsUnknown(t *testing.T) {
	t.Parallel()
	p, r, _, key := luatest.BehindProxy(t, lua.Options{CommandTimeout: 20 * time.Second})
	p.Lose(luatest.Plan{Mute: true, Forever: true})
	alone := make(chan error, 1)
	go func() { _, err := take(luatest.Deadline(t), r, key, 50); alone <- err }()
	<-p.Saw // it holds a connection, so the next call goes into the pipeline
	ctx, cancel := context.WithCancel(context.Background())
	waits := make(chan error, 1)
	go func() { _, err := take(ctx, r, key, 50); waits <- err }()
	<-p.Saw
	cancel()
	err := <-waits // the connections stay silent, so that only the cancellation can end the call
	require.ErrorIs(t, err, redis.ErrMaybeExecuted)
	require.ErrorIs(t, err, context.Canceled)
	p.Heal()
	p.Cut()
	require.ErrorIs(t, <-alone, redis.ErrMaybeExecuted)
}

func TestCallsThatCloseFindsRunningFail(t *testing.T) {
	t.Parallel()
	p, r, _, key := luatest.BehindProxy(t, lua.Options{CommandTimeout: 20 * time.Second})
	p.Lose(luatest.Plan{Mute: true, Forever: true})
	got := make(chan error, 1)
	go func() { _, err := take(luatest.Deadline(t), r, key, 50); got <- err }()
	<-p.Saw
	require.NoError(t, r.Close())
	require.ErrorIs(t, <-got, redis.ErrMaybeExecuted)
	_, err := take(luatest.Deadline(t), r, key, 50)
	require.ErrorIs(t, err, redis.ErrUnavailable)
	require.False(t, r.Status().Up)
	require.NoError(t, r.Close())
}
