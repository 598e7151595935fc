package redis_test

import (
	"cmp"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// incr is a script for tests: it counts its runs.
const incr = "return redis.call('INCR', KEYS[1])"

func sha(text string) string {
	sum := sha1.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

// patient sets long default timeouts: a Redis that a busy machine does not run for some seconds would otherwise count
// as down.
func patient(o redis.Options) redis.Options {
	o.DialTimeout, o.CommandTimeout = cmp.Or(o.DialTimeout, 30*time.Second), cmp.Or(o.CommandTimeout, 30*time.Second)
	return o
}

// open starts a store that is closed with the test.
func open(t *testing.T, o redis.Options) *redis.Store {
	t.Helper()
	s, err := redis.Open(patient(o), redis.Scripts{Texts: []string{incr}, SHAs: []string{sha(incr)}, Commands: []string{"INCR"}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// deadline is far beyond what anything here takes, so that only a hang meets it.
func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// counting is one run of incr.
func counting(key string) *redis.Try {
	return &redis.Try{
		Args: []any{redis.EvalSHA, sha(incr), 1, key}, Script: "incr", Runs: func() []string { return []string{"INCR"} },
	}
}

// call sends a try once and returns its error.
func call(ctx context.Context, s *redis.Store) error {
	try := counting("k")
	if s.Route(ctx, try, false) {
		try.Send(ctx)
	}
	return try.Failure.AsError(ctx, false)
}

func TestATryIsSentOnceAndHasItsOutcome(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		s, try := open(t, redis.Options{URL: url}), counting(redistest.Prefix(t))
		for want := range int64(2) {
			require.True(t, s.Route(deadline(t), try, false))
			before := time.Now()
			try.Send(deadline(t))
			require.Equal(t, redis.Answered, try.Failure.Verdict)
			require.EqualValues(t, want+1, try.Reply)
			require.EqualValues(t, want+1, try.Tries)
			require.False(t, try.Sent.Before(before))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		try.Send(ctx)
		require.Equal(t, redis.Ended, try.Failure.Verdict)
		require.ErrorIs(t, try.Failure.AsError(ctx, false), context.Canceled)
		require.ErrorIs(t, try.Failure.AsError(ctx, true), redis.ErrMaybeExecuted)
		require.Equal(t, 2, try.Tries)
	})
}

// completion is a redis.Completion that calls a function.
type completion func()

func (f completion) Done() redis.Flusher {
	f()
	return nil
}

// While the replies of a batch are delivered, the server executes the next batch: the completion of the first try
// waits for the effect of the second one.
func TestTheNextBatchIsSentBeforeRepliesAreDelivered(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, redis.Options{URL: server.URL(), CommandTimeout: 30 * time.Second})
	require.Eventually(t, func() bool { return call(deadline(t), s) == nil }, 30*time.Second, time.Millisecond)
	first, second := counting("first"), counting("second")
	require.NotNil(t, s.Ready(first))
	require.NotNil(t, s.Ready(second))

	server.Pause() // so that the first is under way and the second waits when the server continues
	client, ctx := server.Client(t), deadline(t)
	var order []string
	ended := make(chan struct{}, 2)
	require.True(t, first.Submit(nil, completion(func() {
		for client.Exists(ctx, "second").Val() == 0 && ctx.Err() == nil {
			continue
		}
		order = append(order, "first")
		ended <- struct{}{}
	})))
	require.Eventually(t, func() bool { return redis.IsSent(first) }, 30*time.Second, time.Millisecond)
	require.True(t, second.Submit(nil, completion(func() {
		order = append(order, "second")
		ended <- struct{}{}
	})))
	server.Resume()
	<-ended
	<-ended
	require.NoError(t, ctx.Err(), "the second was not executed while the first was completed")
	require.Equal(t, []string{"first", "second"}, order, "batches are settled in the order in which they were sent")
}

// chained is the turn of a call that has a call ahead of it, or none.
type chained struct {
	failed atomic.Bool
	ahead  *chained
}

func (c *chained) Await(context.Context, any) error { return nil }
func (c *chained) Sent(any)                         {}
func (c *chained) Failed()                          { c.failed.Store(true) }
func (c *chained) Behind() bool                     { return c.ahead != nil && c.ahead.failed.Load() }
func (c *chained) Answered()                        {}

// refused is a form for many that returns OOM for its last item.
const refused = "local r = {} for i = 1, tonumber(ARGV[#ARGV]) do r[i] = 1 end r[#r] = 'OOM command not allowed' return r"

// A call is not sent after the call ahead of it has failed, even if it was waiting for the next batch at that moment,
// whether the whole EVALSHA failed or one item of it.
func TestACallIsHeldBackIfTheCallAheadFailedInTheBatchBefore(t *testing.T) {
	t.Parallel()
	const batchSize = 256
	for name, many := range map[string]string{"a whole run": sha("no such script"), "an item": sha(refused)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			s, err := redis.Open(redis.Options{URL: server.URL(), CommandTimeout: 30 * time.Second}, redis.Scripts{
				Texts: []string{incr, refused}, SHAs: []string{sha(incr), sha(refused)}, Commands: []string{"INCR"},
			})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, s.Close()) })
			require.Eventually(t, func() bool { return call(deadline(t), s) == nil }, 30*time.Second, time.Millisecond)
			ended := make(chan struct{}, batchSize+2)
			submit := func(try *redis.Try, turn redis.Turn) *redis.Try {
				require.NotNil(t, s.Ready(try))
				require.True(t, try.Submit(turn, completion(func() { ended <- struct{}{} })))
				return try
			}

			// The server is paused while one batch is under way, the next one is full, and the call behind waits.
			server.Pause()
			first := submit(counting("first"), nil)
			require.Eventually(t, func() bool { return redis.IsSent(first) }, 30*time.Second, time.Millisecond)
			ahead := &chained{}
			var last *redis.Try
			for i := range batchSize {
				last = counting("item")
				last.Many, last.Takes = many, time.Microsecond
				var turn redis.Turn
				if i == batchSize-1 {
					turn = ahead
				}
				submit(last, turn)
			}
			behind := submit(counting("behind"), &chained{ahead: ahead})
			server.Resume()
			for range cap(ended) {
				<-ended
			}
			require.Equal(t, redis.NotRun, last.Failure.Verdict)
			require.NotEqual(t, redis.Answered, behind.Failure.Verdict)
			require.Zero(t, server.Client(t).Exists(t.Context(), "behind").Val(), "it was executed before the call ahead of it")
		})
	}
}

func TestScriptsThatWereFlushedAreLoadedByRecover(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s, try := open(t, redis.Options{URL: server.URL()}), counting("k")
	require.NoError(t, call(deadline(t), s))
	for try.Failure.Why != "noscript" { // the probe may be the first to load them
		require.NoError(t, server.Client(t).ScriptFlush(deadline(t)).Err())
		require.True(t, s.Route(deadline(t), try, false))
		try.Send(deadline(t))
	}
	require.Equal(t, redis.NotRun, try.Failure.Verdict)
	require.Equal(t, redis.Soon, try.Recover(deadline(t)))
	require.True(t, s.Route(deadline(t), try, false))
	try.Send(deadline(t))
	require.NoError(t, try.Failure.AsError(deadline(t), false))
}

func TestExchangeSetsReplyOrFailureAndAgainOfEachTry(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, redis.Options{URL: server.URL()})
	require.NoError(t, call(deadline(t), s))
	unknown := counting("a")
	unknown.Args[1] = sha("unknown")
	wrong := counting("set")
	require.NoError(t, server.Client(t).SAdd(deadline(t), "set", "member").Err())
	fine := counting("b")
	s.Exchange(deadline(t), []*redis.Try{unknown, wrong, fine})
	require.True(t, unknown.Again)
	require.ErrorIs(t, unknown.Failure.AsError(deadline(t), false), redis.ErrUnavailable)
	require.False(t, wrong.Again)
	require.Equal(t, redis.Fault, wrong.Failure.Verdict)
	require.False(t, fine.Again)
	require.EqualValues(t, 1, fine.Reply)
}

func TestTheProbeWritesNothing(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, probeWritesNothing)
}

func TestTopologyTheProbeWritesNothing(t *testing.T) {
	t.Parallel()
	redistest.Topologies(t, probeWritesNothing)
}

// probeWritesNothing runs the probe's script on a key that does not exist, and checks that it still does not.
func probeWritesNothing(t *testing.T, url string) {
	s, key := open(t, redis.Options{URL: url}), redistest.Prefix(t)
	run := &redis.Try{Args: []any{redis.EvalSHA, sha(redis.ProbeText), 1, key, "SET HSET"}}
	require.True(t, s.Route(deadline(t), run, false))
	run.Send(deadline(t))
	require.NoError(t, run.Failure.AsError(deadline(t), false))
	require.Equal(t, []any{"", ""}, run.Reply)
	exists := counting(key)
	require.True(t, s.Route(deadline(t), exists, false))
	exists.Send(deadline(t))
	require.EqualValues(t, 1, exists.Reply, "nothing is there")
}

// A server stops in the middle of a call.
func TestCallsToAStoppedRedisEndWithClose(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := open(t, redis.Options{URL: server.URL(), DialTimeout: time.Hour, CommandTimeout: time.Hour})
	stop := r.Subscribe([]string{"c"}, redis.Subscriber{Message: func(string, string) {}, Subscribed: func() {}})
	require.NoError(t, call(deadline(t), r))
	server.Pause()
	defer server.Resume()

	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan error, 1)
	go func() { asked <- call(ctx, r) }()
	require.Eventually(t, func() bool { return redis.Running(r) > 0 }, time.Minute, time.Millisecond)
	cancel()
	require.NoError(t, r.Close())
	stop()
	require.Error(t, <-asked)
}
