package clienttest_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/client/clienttest"
)

// patience bounds waits for events that always happen, on a busy machine too.
const patience = time.Minute

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// start starts a sidecar whose clock stands still, until the test ends.
func start(t *testing.T) *clienttest.Sidecar {
	t.Helper()
	s := clienttest.NewSidecar()
	t.Cleanup(s.Close)
	s.Freeze(noon)
	return s
}

// dial returns a client other than that of Sidecar.Client.
func dial(t *testing.T, s *clienttest.Sidecar, o client.Options) *client.Client {
	t.Helper()
	o.Socket = s.Socket()
	c, err := client.Dial(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// eventually waits until another goroutine has made a condition true.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	require.Eventually(t, is, patience, time.Millisecond, what)
}

func TestTimePassesByAdvanceAlone(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, algorithm := range api.Algorithms {
		s.PutRule(api.Rule{Name: algorithm, Algorithm: algorithm, Limits: []api.Band{api.Per(2, time.Minute).WithBurst(2)}})
		for _, want := range []bool{true, true, false} {
			allowed, err := s.Client().Allow(t.Context(), algorithm, "k")
			require.NoError(t, err)
			require.Equal(t, want, allowed, algorithm)
		}
	}
	require.Equal(t, noon, s.Now())
	s.Advance(2 * time.Minute)
	require.Equal(t, noon.Add(2*time.Minute), s.Now())
	for _, algorithm := range api.Algorithms {
		allowed, err := s.Client().Allow(t.Context(), algorithm, "k")
		require.NoError(t, err)
		require.True(t, allowed, algorithm)
	}
}

// The cost fits after retry_after_ms, and not a millisecond earlier.
func TestRetryAfterIsTheTimeUntilTheCostFits(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, algorithm := range api.Algorithms {
		p := api.RatelimitParams{Algorithm: algorithm, Limits: []api.Band{api.Per(7, 10*time.Minute).WithBurst(3)}, Key: algorithm}
		var r api.RatelimitResult
		var err error
		for r.Allowed = true; r.Allowed; {
			r, err = s.Client().RatelimitAcquire(t.Context(), p)
			require.NoError(t, err)
		}
		after, ok := r.RetryAfter()
		require.True(t, ok)
		s.Advance(after - time.Millisecond)
		r, err = s.Client().RatelimitPeek(t.Context(), p)
		require.NoError(t, err)
		require.False(t, r.Allowed, algorithm)
		s.Advance(time.Millisecond)
		r, err = s.Client().RatelimitPeek(t.Context(), p)
		require.NoError(t, err)
		require.True(t, r.Allowed, algorithm)
	}
}

func TestACallThatWaitsIsWokenByTheClock(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.PutRule(api.Rule{Name: "crawl", Limits: []api.Band{api.Per(1, 10*time.Second)}})
	waited := make(chan error, 2)
	require.NoError(t, s.Client().Wait(t.Context(), "crawl", "k"))
	go func() { waited <- s.Client().Wait(t.Context(), "crawl", "k") }()
	eventually(t, "the call waits", func() bool { return s.Waiting() == 1 })
	s.Advance(9999 * time.Millisecond)
	require.Equal(t, 1, s.Waiting())
	s.Advance(time.Millisecond)
	require.NoError(t, <-waited)
	require.Zero(t, s.Waiting())
}

func TestARunningClockNeedsNoHelp(t *testing.T) {
	t.Parallel()
	s := clienttest.NewSidecar()
	t.Cleanup(s.Close)
	lk, err := s.Client().LockAcquire(t.Context(), "l", client.LockOptions{MaxHold: 100 * time.Millisecond})
	require.NoError(t, err)
	<-lk.Context().Done()
	require.ErrorContains(t, context.Cause(lk.Context()), "max_hold")
	before := s.Now()
	s.PutRule(api.Rule{Name: "daily", Limits: []api.Band{api.Per(1, 24*time.Hour)}})
	require.NoError(t, s.Client().Wait(t.Context(), "daily", "k"))
	s.Advance(24 * time.Hour)
	require.NoError(t, s.Client().Wait(t.Context(), "daily", "k"))
	require.WithinRange(t, s.Now(), before.Add(24*time.Hour), before.Add(48*time.Hour))
	s.PutRule(api.Rule{Name: "quick", Limits: []api.Band{api.Per(1, 10*time.Millisecond)}})
	for range 5 {
		require.NoError(t, s.Client().Wait(t.Context(), "quick", "k"))
	}
}

func TestLeasesEndWithTheirTTL(t *testing.T) {
	t.Parallel()
	s := start(t)
	mine, other := dial(t, s, client.Options{}), dial(t, s, client.Options{})
	_, err := mine.LockAcquire(t.Context(), "ttl", client.LockOptions{TTL: time.Hour, Bind: api.BindTTL})
	require.NoError(t, err)
	_, err = mine.LockAcquire(t.Context(), "session", client.LockOptions{TTL: time.Hour})
	require.NoError(t, err)
	s.Advance(time.Hour)
	_, err = other.LockAcquire(t.Context(), "ttl", client.LockOptions{})
	require.NoError(t, err)
	_, err = other.LockAcquire(t.Context(), "session", client.LockOptions{})
	require.ErrorIs(t, err, client.ErrBusy, "its session renews it")
	require.NoError(t, mine.Close())
	_, err = other.LockAcquire(t.Context(), "session", client.LockOptions{Wait: 30 * time.Second})
	require.NoError(t, err, "the session has ended")
}

func TestALostLeaseIsReported(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := s.Client()
	_, err := c.PoolPut(t.Context(), api.PoolPutParams{Pool: "n", Members: []api.PoolMember{{ID: "x"}, {ID: "y"}}})
	require.NoError(t, err)
	_, err = c.QueueEnqueue(t.Context(), "n", "1", client.EntryOptions{})
	require.NoError(t, err)
	contexts := make(map[string]context.Context)
	lk, err := c.LockAcquire(t.Context(), "n", client.LockOptions{})
	require.NoError(t, err)
	contexts["lock"] = lk.Context()
	sem, err := c.SemaphoreAcquire(t.Context(), "n", client.SemaphoreOptions{Limit: 1})
	require.NoError(t, err)
	contexts["semaphore"] = sem.Context()
	member, err := c.PoolAcquire(t.Context(), "n", client.PoolOptions{})
	require.NoError(t, err)
	contexts["pool"] = member.Context()
	permit, err := c.PermitAcquire(t.Context(), "n", client.PermitOptions{})
	require.NoError(t, err)
	contexts["permit"] = permit.Context()
	entry, err := c.QueueDequeue(t.Context(), "n", client.QueueOptions{Bind: api.BindSession})
	require.NoError(t, err)
	contexts["queue"] = entry.Context()
	reserved, _, err := c.SeenReserve(t.Context(), "n", "k", client.SeenOptions{})
	require.NoError(t, err)
	contexts["seen"] = reserved.Context()
	for noun, ctx := range contexts {
		require.NoError(t, ctx.Err(), noun)
		require.Equal(t, 1, s.Lose(noun, "n", "unreachable"), noun)
		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), client.ErrLost, noun)
		require.ErrorContains(t, context.Cause(ctx), "unreachable", noun)
		require.Zero(t, s.Lose(noun, "n", "unreachable"), noun)
	}
	require.ErrorIs(t, lk.Release(t.Context()), client.ErrLost)
}

func TestALostMessageIsDeliveredAgain(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := s.Client()
	_, err := c.StreamPublish(t.Context(), api.StreamPublishParams{Stream: "a:b", Body: []byte("x")})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err = c.StreamSubscribe(ctx, "a:b", "g", client.StreamOptions{}, func(mine context.Context, m api.StreamMessage) error {
		if m.Attempt == 1 {
			require.Equal(t, 1, s.Lose("stream", "a:b", "expired"))
			<-mine.Done()
			return context.Cause(mine)
		}
		cancel()
		return nil
	})
	require.ErrorIs(t, err, context.Canceled)
	stats, err := c.StreamStats(t.Context(), api.StreamStatsParams{Stream: "a:b"})
	require.NoError(t, err)
	require.Zero(t, stats.Groups[0].Pending)
}

func TestATestAnswersInThePlaceOfTheModel(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.PutRule(api.Rule{Name: "crawl", Limits: []api.Band{api.Per(100, time.Minute)}})
	clienttest.On(s, api.RatelimitAcquire, func(p api.RatelimitParams) (api.RatelimitResult, error) {
		switch p.Key {
		case "paused":
			return api.RatelimitResult{DeniedBy: "pause", RetryAfterMS: 2000}, nil
		case "fails":
			return api.RatelimitResult{}, &api.Error{Code: api.Unavailable, Message: "no redis", Details: map[string]any{api.DetailTrouble: "refused"}}
		case "bad":
			return api.RatelimitResult{}, errors.New("a fault of the test")
		default:
			return api.RatelimitResult{}, clienttest.ErrModel
		}
	})
	ask := func(key string) (api.RatelimitResult, error) {
		return s.Client().RatelimitAcquire(t.Context(), api.RatelimitParams{Rule: "crawl", Key: key})
	}
	r, err := ask("paused")
	require.NoError(t, err)
	require.Equal(t, "pause", r.DeniedBy)
	_, err = ask("fails")
	var e *api.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, "refused", e.Trouble())
	_, err = ask("bad")
	require.ErrorIs(t, err, api.Internal)
	r, err = ask("other")
	require.NoError(t, err)
	require.Equal(t, int64(99), r.Remaining, "the model answers")
	clienttest.On[api.RatelimitParams, api.RatelimitResult](s, api.RatelimitAcquire, nil)
	r, err = ask("paused")
	require.NoError(t, err)
	require.True(t, r.Allowed)
}

func TestAllCallsFailByAnError(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.SetError(&api.Error{Code: api.Unavailable, Message: "no redis", Retryable: true})
	_, err := s.Client().LockAcquire(t.Context(), "l", client.LockOptions{})
	require.ErrorIs(t, err, api.Unavailable)
	_, err = s.Client().Ping(t.Context())
	require.NoError(t, err, "the session needs no Redis")
	s.SetError(nil)
	_, err = s.Client().LockAcquire(t.Context(), "l", client.LockOptions{})
	require.NoError(t, err)
}

func TestARestartKeepsWhatIsInRedis(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := s.Client()
	s.PutRule(api.Rule{Name: "crawl", Limits: []api.Band{api.Per(1, time.Hour)}})
	require.NoError(t, c.Wait(t.Context(), "crawl", "k"))
	lk, err := c.LockAcquire(t.Context(), "l", client.LockOptions{})
	require.NoError(t, err)
	s.Stop()
	s.Stop()
	<-lk.Context().Done()
	require.ErrorIs(t, context.Cause(lk.Context()), client.ErrLost)
	s.Start()
	s.Start()
	allowed, err := c.Allow(t.Context(), "crawl", "k") // connects again
	require.NoError(t, err)
	require.False(t, allowed)
	again, err := c.LockAcquire(t.Context(), "l", client.LockOptions{})
	require.NoError(t, err)
	require.Greater(t, again.Fence(), lk.Fence())
}

// A call that has a request id is carried out once, even if its connection breaks.
func TestARepeatedCallIsOneCall(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.PutRule(api.Rule{Name: "crawl", Limits: []api.Band{api.Per(10, time.Hour)}})
	ctx := client.WithRequestID(t.Context(), "id")
	for i := range 3 {
		r, err := s.Client().RatelimitAcquire(ctx, api.RatelimitParams{Rule: "crawl", Key: "k"})
		require.NoError(t, err)
		require.Equal(t, int64(9), r.Remaining)
		require.Equal(t, i > 0, r.Replayed)
		s.Stop()
		s.Start()
	}
}

func TestCallsAreKept(t *testing.T) {
	t.Parallel()
	s := start(t)
	_, err := s.Client().QueueEnqueue(t.Context(), "q", "1", client.EntryOptions{Body: []byte("b")})
	require.NoError(t, err)
	_, err = s.Client().Ping(t.Context())
	require.NoError(t, err)
	require.Equal(t, []clienttest.Call{{
		Method: "queue.enqueue", Params: map[string]any{"queue": "q", "id": "1", "body": []byte("b")},
	}}, s.Calls())
}

func TestEventsAreSent(t *testing.T) {
	t.Parallel()
	s := start(t)
	events := make(chan client.Event, 4)
	c := dial(t, s, client.Options{OnEvent: func(e client.Event) { events <- e }})
	require.NoError(t, c.EventsSubscribe(t.Context(), "paused"))
	s.Emit(api.EventParams{Kind: "reloaded"})
	s.Emit(api.EventParams{Kind: "paused", Name: "crawl"})
	e := <-events
	require.Equal(t, "paused", e.Params["kind"])
	require.Equal(t, noon.UnixMilli(), e.Params["at_ms"])
	require.NoError(t, c.EventsUnsubscribe(t.Context()))
	require.NoError(t, c.CallRaw(t.Context(), "session.drain", nil, nil))
	_, draining := (<-events).Draining()
	require.True(t, draining)
}

// A half-open breaker grants as many probes as its policy allows, and closes when they succeed.
func TestBreakersGoByTheirPolicy(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.PutPolicy(api.BreakerPolicy{Name: "api-*", FailureThreshold: 1, SuccessThreshold: 2, OpenMS: 1000, HalfOpenMax: 1})
	c := s.Client()
	broken := errors.New("broken")
	fails := func(context.Context) error { return broken }
	works := func(context.Context) error { return nil }
	do := func(fn func(context.Context) error) error {
		return c.BreakerDo(t.Context(), "api-1", client.BreakerOptions{}, fn)
	}
	state := func() string {
		r, err := c.BreakerGet(t.Context(), api.BreakerParams{Name: "api-1"})
		require.NoError(t, err)
		return r.State
	}
	require.ErrorIs(t, do(fails), broken)
	var open *client.OpenError
	require.ErrorAs(t, do(works), &open)
	require.Equal(t, time.Second, open.RetryAfter)
	s.Advance(time.Second)
	require.NoError(t, do(func(context.Context) error {
		require.Equal(t, "half_open", state())
		require.ErrorIs(t, do(works), client.ErrOpen, "one probe is out")
		return nil
	}))
	require.ErrorIs(t, do(fails), broken)
	s.Advance(time.Second)
	require.ErrorIs(t, do(works), client.ErrOpen, "the second time it is open twice as long")
	s.Advance(time.Second)
	require.NoError(t, do(works))
	require.NoError(t, do(works))
	require.Equal(t, "closed", state())
}

func TestDelayedMessagesAndRetriesComeByTheClock(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := s.Client()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := c.StreamPublish(ctx, api.StreamPublishParams{Stream: "s", Body: []byte("late"), DelayMS: api.Millis(time.Hour)})
	require.NoError(t, err)
	came := make(chan int64, 4)
	ended := make(chan error, 1)
	go func() {
		ended <- c.StreamSubscribe(ctx, "s", "g", client.StreamOptions{}, func(_ context.Context, m api.StreamMessage) error {
			came <- m.Attempt
			if m.Attempt == 1 {
				return &client.NackError{Err: errors.New("again"), Delay: time.Minute}
			}
			return nil
		})
	}()
	eventually(t, "the group is there", func() bool {
		r, err := c.StreamStats(ctx, api.StreamStatsParams{Stream: "s"})
		return err == nil && len(r.Groups) == 1
	})
	require.Empty(t, came)
	s.Advance(time.Hour)
	require.Equal(t, int64(1), <-came)
	eventually(t, "it is to come again", func() bool {
		r, err := c.StreamStats(ctx, api.StreamStatsParams{Stream: "s"})
		return err == nil && r.Groups[0].Retrying == 1
	})
	s.Advance(time.Minute)
	require.Equal(t, int64(2), <-came)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
}

// Messages of one key are delivered one at a time, each when the rule of the group admits it.
func TestMessagesByKey(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := s.Client()
	s.PutRule(api.Rule{Name: "site", Limits: []api.Band{api.Per(1, time.Minute)}})
	for i, host := range []string{"a", "a", "b", ""} {
		fields := map[string]string{"host": host, "n": fmt.Sprint(i)}
		if host == "" {
			delete(fields, "host")
		}
		_, err := c.StreamPublish(t.Context(), api.StreamPublishParams{Stream: "s", Fields: fields})
		require.NoError(t, err)
	}
	fetch := func() (numbers []string) {
		got, err := c.StreamFetch(t.Context(), api.StreamFetchParams{Stream: "s", Group: "g", Count: 10, Rule: "site", Key: "host"})
		require.NoError(t, err)
		for _, m := range got {
			numbers = append(numbers, m.Fields["n"])
			acked, err := c.StreamAck(t.Context(), api.StreamMessageParams{Stream: "s", Group: "g", ID: m.ID})
			require.NoError(t, err)
			require.True(t, acked)
		}
		return numbers
	}
	require.Equal(t, []string{"0", "2"}, fetch())
	require.Empty(t, fetch(), "the rule does not admit a")
	s.Advance(time.Minute)
	require.Equal(t, []string{"1"}, fetch())
	dead, err := c.StreamDead(t.Context(), api.StreamDeadParams{Stream: "s"})
	require.NoError(t, err)
	require.Len(t, dead.Letters, 1, "it has no such field")
}

func TestWaitersAreServedInOrder(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := s.Client()
	first, err := c.SemaphoreAcquire(t.Context(), "s", client.SemaphoreOptions{Limit: 3, Permits: 2})
	require.NoError(t, err)
	waits := make(chan error, 1)
	go func() {
		sem, err := c.SemaphoreAcquire(t.Context(), "s", client.SemaphoreOptions{Limit: 3, Permits: 3, Wait: time.Minute})
		if err == nil {
			err = sem.Release(t.Context())
		}
		waits <- err
	}()
	eventually(t, "the call waits", func() bool { return s.Waiting() == 1 })
	_, err = c.SemaphoreAcquire(t.Context(), "s", client.SemaphoreOptions{Limit: 3})
	require.ErrorIs(t, err, client.ErrBusy, "the one that is free is for who waits")
	require.NoError(t, first.Release(t.Context()))
	require.NoError(t, <-waits)
}

// A call whose caller cancels it leaves the waiting line.
func TestACallerThatGivesUpLeavesTheLine(t *testing.T) {
	t.Parallel()
	s := start(t)
	mine, other := dial(t, s, client.Options{}), dial(t, s, client.Options{})
	lk, err := mine.LockAcquire(t.Context(), "l", client.LockOptions{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	waits := make(chan error, 1)
	go func() {
		_, err := other.LockAcquire(ctx, "l", client.LockOptions{Wait: time.Minute})
		waits <- err
	}()
	eventually(t, "the call waits", func() bool { return s.Waiting() == 1 })
	cancel()
	require.ErrorIs(t, <-waits, context.Canceled)
	eventually(t, "the line is empty", func() bool { return s.Waiting() == 0 })
	require.NoError(t, lk.Release(t.Context()))
	r, err := mine.LockGet(t.Context(), "l")
	require.NoError(t, err)
	require.False(t, r.Held)
}

func TestAMethodWithoutAModelNamesTheRemedy(t *testing.T) {
	t.Parallel()
	s := start(t)
	_, err := s.Client().LockExplain(t.Context(), "l")
	require.ErrorIs(t, err, api.MethodNotFound)
	require.ErrorContains(t, err, "clienttest.On")
}

func TestManyClientsAtOnce(t *testing.T) {
	t.Parallel()
	s := clienttest.NewSidecar()
	t.Cleanup(s.Close)
	s.PutRule(api.Rule{Name: "crawl", Limits: []api.Band{api.Per(50, time.Hour)}})
	var wg sync.WaitGroup
	allowed, inside := 0, 0 // guarded by the lock l
	for range 8 {
		c := dial(t, s, client.Options{})
		wg.Go(func() {
			for range 10 {
				ok, err := c.Allow(t.Context(), "crawl", "k")
				if err != nil {
					t.Error(err)
				}
				err = c.LockDo(t.Context(), "l", client.LockOptions{Wait: time.Minute}, func(context.Context, *client.Lock) error {
					inside++
					defer func() { inside-- }()
					if inside != 1 {
						t.Error("the lock does not exclude")
					}
					if ok {
						allowed++
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	require.Equal(t, 50, allowed)
}

// A program that speaks the protocol without package client gets errors as lists.
func TestOtherProgramsAreAnswered(t *testing.T) {
	t.Parallel()
	s := start(t)
	nc, err := net.Dial("unix", s.Socket())
	require.NoError(t, err)
	defer nc.Close()
	_, err = nc.Write([]byte("\x94\x00\x01\xa8no.such!\x91\x80"))
	require.NoError(t, err)
	b := make([]byte, 256)
	n, err := nc.Read(b)
	require.NoError(t, err)
	require.Equal(t, "\x94\x01\x01\x92\x01\xd9\x2aMETHOD_NOT_FOUND: no.such!: no such method\xc0", string(b[:n]))
	_, err = nc.Write([]byte("\xc1 no MessagePack"))
	require.NoError(t, err)
	_, err = nc.Read(b)
	require.Error(t, err, "it hangs up")
}

// endWhileWaiting makes a client hold a lock, wait for the same lock, and end.
func endWhileWaiting(t *testing.T, s *clienttest.Sidecar, name string) {
	t.Helper()
	c, err := client.Dial(t.Context(), client.Options{Socket: s.Socket()})
	if !assert.NoError(t, err) {
		return
	}
	_, err = c.LockAcquire(t.Context(), name, client.LockOptions{Wait: time.Minute})
	assert.NoError(t, err)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { _, _ = c.LockAcquire(context.Background(), name, client.LockOptions{Wait: time.Minute}) })
	}
	assert.Eventually(t, func() bool {
		r, err := s.Client().LockGet(t.Context(), name)
		return err == nil && r.Waiting == 4
	}, patience, time.Millisecond)
	assert.NoError(t, c.Close())
	wg.Wait()
}

// A client that ends while it waits is not granted the lock, because nobody would release it.
func TestAClientThatEndsTakesNothing(t *testing.T) {
	t.Parallel()
	s := start(t)
	var clients sync.WaitGroup
	for i := range 20 {
		clients.Go(func() {
			for range 10 {
				endWhileWaiting(t, s, fmt.Sprint(i))
			}
		})
	}
	clients.Wait()
	s.Stop() // waits until all calls have ended
	s.Start()
	r, err := s.Client().LockList(t.Context(), api.LockListParams{})
	require.NoError(t, err)
	require.Empty(t, r.Locks)
}

func TestAClientThatEndedWhileWaitingGetsNothing(t *testing.T) {
	t.Parallel()
	s := start(t)
	a, err := client.Dial(t.Context(), client.Options{Socket: s.Socket()})
	require.NoError(t, err)
	_, err = a.LockAcquire(t.Context(), "mark", client.LockOptions{})
	require.NoError(t, err)
	asked, goOn := make(chan struct{}), make(chan struct{})
	clienttest.On(s, api.LockAcquire, func(api.LockAcquireParams) (api.LockAcquireResult, error) {
		close(asked)
		<-goOn
		return api.LockAcquireResult{}, clienttest.ErrModel
	})
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = a.LockAcquire(context.Background(), "l", client.LockOptions{}) })
	<-asked
	_ = a.Close()
	wg.Wait()
	require.Eventually(t, func() bool {
		r, err := s.Client().LockGet(t.Context(), "mark")
		return err == nil && !r.Held
	}, patience, time.Millisecond)
	clienttest.On(s, api.LockAcquire, nil)
	close(goOn)
	s.Stop()
	s.Start()
	r, err := s.Client().LockGet(t.Context(), "l")
	require.NoError(t, err)
	require.False(t, r.Held)
}

func TestStopAndStartTakeTurns(t *testing.T) {
	t.Parallel()
	s := start(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 100 {
				s.Stop()
				s.Start()
			}
		})
	}
	wg.Wait()
	_, err := s.Client().Ping(t.Context())
	require.NoError(t, err)
}
