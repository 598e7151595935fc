package lease_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/conformance"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/coordtest"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// queue is one lock with its waiting line, on a Redis server of the test's own.
type queue struct {
	t      *testing.T
	server *redistest.Server
	redis  *redis.Client
	prefix string
	clock  func() int64 // of the scripts, nil = the server's
}

func newQueue(t *testing.T, clock func() int64) queue {
	s := redistest.Start(t)
	return queue{t, s, s.Client(t), redistest.Prefix(t), clock}
}

func (q queue) sidecar() *coordtest.Sidecar {
	q.t.Helper()
	return coordtest.New(q.t, luatest.Open(q.t, lua.Options{URL: q.server.URL(), Clock: q.clock}), q.prefix)
}

// places returns when this many waiters are in the waiting line.
func (q queue) places(want int64) {
	q.t.Helper()
	key := lease.LineKeysOf(coordtest.LockKey(coord.NewKeys(q.prefix, ""), "l")).Line
	require.Eventually(q.t, func() bool {
		n, err := q.redis.ZCard(q.t.Context(), key).Result()
		return err == nil && n == want
	}, 30*time.Second, time.Millisecond, "never so many in line: %d", want)
}

// waited is the result of a wait.
type waited struct {
	api.LockAcquireResult
	err error
}

// stand adds a waiter to the waiting line, and returns when it is there.
func (q queue) stand(ctx context.Context, s *coordtest.Sidecar, before int64) <-chan waited {
	q.t.Helper()
	ended := q.ask(ctx, s)
	q.places(before + 1)
	return ended
}

func (q queue) ask(ctx context.Context, s *coordtest.Sidecar) <-chan waited {
	ended := make(chan waited, 1)
	go func() {
		g, err := s.Locks.Acquire(ctx, coord.Caller{}, &api.LockAcquireParams{Name: "l", TTLMS: time.Hour.Milliseconds(), WaitMS: time.Minute.Milliseconds(), Bind: api.BindTTL})
		ended <- waited{g, err}
	}()
	return ended
}

func (q queue) served(ended <-chan waited) api.LockAcquireResult {
	q.t.Helper()
	select {
	case w := <-ended:
		require.NoError(q.t, w.err)
		require.True(q.t, w.Acquired, "%+v", w.LockAcquireResult)
		return w.LockAcquireResult
	case <-time.After(30 * time.Second):
		q.t.Fatal("never served")
		return api.LockAcquireResult{}
	}
}

func (q queue) release(s *coordtest.Sidecar, token string) {
	q.t.Helper()
	r, err := s.Locks.Release(q.t.Context(), coord.Caller{}, &api.LockReleaseParams{Name: "l", Token: token})
	require.NoError(q.t, err)
	require.True(q.t, r.Released)
}

func (q queue) hold(s *coordtest.Sidecar) api.LockAcquireResult {
	return coordtest.Take(q.t, s, coord.Caller{}, coordtest.Unbound("l", time.Hour))
}

// The sidecar of the first fifty waiters dies. By the clock that the scripts read, the next waiter is served when the
// dead sidecar's last heartbeat ends, and not one microsecond before.
func TestDeadWaitersDelayTheLineByOneHeartbeat(t *testing.T) {
	t.Parallel()
	now := conformance.NewClock()
	q := newQueue(t, now.Micros)
	doomed := luatest.Open(t, lua.Options{URL: q.server.URL(), Clock: q.clock})
	dying, live := coordtest.New(t, doomed, q.prefix), q.sidecar()
	g := q.hold(live)
	gone, end := context.WithCancel(t.Context())
	defer end()
	dead := make([]<-chan waited, 50)
	for i := range dead {
		dead[i] = q.stand(gone, dying, int64(i))
	}
	next := q.stand(t.Context(), live, 50)
	require.NoError(t, doomed.Close()) // as by kill -9: nothing is given back
	q.release(live, g.Token)

	now.Advance(lease.HeartbeatFor - time.Microsecond)
	busy, err := live.Locks.Acquire(t.Context(), coord.Caller{}, coordtest.Unbound("l", time.Hour))
	require.NoError(t, err)
	require.False(t, busy.Acquired, "the dead may be alive")
	require.Nil(t, busy.HeldBy, "it is free, and kept for the first in line")
	require.Empty(t, next)
	q.places(51)
	now.Advance(time.Microsecond)
	q.served(next)
	q.places(0)
	end()
	for _, ended := range dead {
		require.Error(t, (<-ended).err)
	}
}

// The sidecar that holds the lock dies, so nothing gives the lock back: its TTL must end, which the first waiter
// finds by asking again.
func TestALockOfADeadSidecarPassesToTheNextAtTheEndOfItsTTL(t *testing.T) {
	t.Parallel()
	now := conformance.NewClock()
	q := newQueue(t, now.Micros)
	doomed := luatest.Open(t, lua.Options{URL: q.server.URL(), Clock: q.clock})
	dying, live := coordtest.New(t, doomed, q.prefix), q.sidecar()
	coordtest.Take(t, dying, coordtest.OpenSession(t, dying).Caller(), coordtest.Bound("l", time.Hour))
	next := q.stand(t.Context(), live, 0)
	require.NoError(t, doomed.Close())
	now.Advance(time.Hour - time.Millisecond)
	info, err := live.Locks.Get(t.Context(), coord.Caller{}, &api.LockGetParams{Name: "l"})
	require.NoError(t, err)
	require.True(t, info.Held)
	require.Empty(t, next)
	now.Advance(time.Millisecond)
	q.served(next)
}

func TestALineOutlivesTheLossOfAllData(t *testing.T) {
	t.Parallel()
	q := newQueue(t, nil)
	a, b := q.sidecar(), q.sidecar()
	first := q.hold(a)
	line := make(map[int]<-chan waited)
	for i := range 20 {
		line[i] = q.stand(t.Context(), []*coordtest.Sidecar{a, b}[i%2], int64(i))
	}
	require.NoError(t, q.redis.FlushAll(t.Context()).Err())
	// The lock is lost as well: the first caller that asks again gets it, with a higher fence.
	fence := coordtest.Number(t, first.Fence)
	for len(line) > 0 {
		i, g := q.anyServed(line)
		delete(line, i)
		require.Greater(t, coordtest.Number(t, g.Fence), fence)
		fence = coordtest.Number(t, g.Fence)
		q.release(a, g.Token)
	}
}

func (q queue) anyServed(line map[int]<-chan waited) (int, api.LockAcquireResult) {
	q.t.Helper()
	found := make(chan int, len(line))
	require.Eventually(q.t, func() bool {
		for i, ended := range line {
			if len(ended) > 0 {
				found <- i
				return true
			}
		}
		return false
	}, 30*time.Second, time.Millisecond, "nobody is served")
	i := <-found
	return i, q.served(line[i])
}

func TestAnOutageIsWaitedOut(t *testing.T) {
	t.Parallel()
	q := newQueue(t, nil)
	s := q.sidecar()
	g := q.hold(s)
	first := q.stand(t.Context(), s, 0)
	second := q.stand(t.Context(), s, 1)
	q.server.Restart()
	require.NotEmpty(t, g.Token)
	line := map[int]<-chan waited{1: first, 2: second}
	i, g := q.anyServed(line)
	delete(line, i)
	q.release(s, g.Token)
	q.anyServed(line)
}

// No wake-up is required: if a sidecar may not publish or not listen, its waiters are served later.
func TestWaitingNeedsNoMessages(t *testing.T) {
	t.Parallel()
	for _, rule := range []string{"-publish", "-subscribe"} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			q := newQueue(t, nil)
			require.NoError(t, q.redis.Do(t.Context(), "ACL", "SETUSER", "default", rule).Err())
			a, b := q.sidecar(), q.sidecar()
			token := q.hold(a).Token
			first, second := q.stand(t.Context(), b, 0), q.stand(t.Context(), a, 1)
			for _, ended := range []<-chan waited{first, second} {
				q.release(a, token)
				token = q.served(ended).Token
			}
		})
	}
}

// A cancellation races the grant: whichever comes first, the next waiter is served.
func TestACancelledGrantPassesToTheNextWaiter(t *testing.T) {
	t.Parallel()
	q := newQueue(t, nil)
	a, b := q.sidecar(), q.sidecar()
	kept, handedOn := 0, 0
	for range 200 {
		token := q.hold(a).Token
		ctx, cancel := context.WithCancel(t.Context())
		first, second := q.stand(ctx, b, 0), q.stand(t.Context(), a, 1)
		go cancel()
		q.release(a, token)
		if w := <-first; w.Acquired {
			kept++
			q.release(b, w.Token)
		} else {
			handedOn++
			require.ErrorIs(t, w.err, context.Canceled)
		}
		q.release(a, q.served(second).Token)
		q.places(0)
	}
	t.Logf("the grant was kept %d times, handed on %d times", kept, handedOn)
}

func TestDrainingEndsTheWait(t *testing.T) {
	t.Parallel()
	q := newQueue(t, nil)
	a, b := q.sidecar(), q.sidecar()
	g := q.hold(b)
	first, second := q.stand(t.Context(), a, 0), q.stand(t.Context(), b, 1)
	a.Leases.Drain()
	var e *coord.Error
	require.ErrorAs(t, (<-first).err, &e)
	require.Equal(t, api.Draining, e.Code)
	q.places(1)
	q.release(b, g.Token)
	q.served(second)
}

func TestAWaitLeavesTimeToAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		require.Equal(t, 9*time.Second, lease.Capped(ctx, time.Minute))
		require.Equal(t, 2*time.Second, lease.Capped(ctx, 2*time.Second))
		require.Equal(t, time.Minute, lease.Capped(t.Context(), time.Minute))
	})
}

// Three hundred waiters of two sidecars: the first waiter asks once a second, each sidecar sends a heartbeat once a
// second, and each of the two probes runs a script once a second. Nothing else is sent, and no waiter occupies a
// connection.
func TestWaitingCostsAHeartbeatASecond(t *testing.T) {
	t.Parallel()
	q := newQueue(t, nil)
	a, b := q.sidecar(), q.sidecar()
	q.hold(a)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for i := range int64(300) {
		q.stand(ctx, []*coordtest.Sidecar{a, b}[i%2], i)
	}
	// The first period may still contain scripts of the calls that have just joined the line.
	require.Eventually(t, func() bool {
		at := time.Now() // before the first count, so that a pause between them counts no command without its time
		from := q.runs()
		<-time.After(3 * time.Second) // the commands of these seconds are counted
		runs, seconds := q.runs()-from, time.Since(at).Seconds()
		t.Logf("%d in %.1f s", runs, seconds)
		return runs > 0 && runs <= int(5*(seconds+1))
	}, time.Minute, time.Millisecond)
	require.Eventually(t, func() bool {
		s := a.Runner.Status()
		return s.PoolTotal-s.PoolIdle <= 1
	}, time.Minute, time.Millisecond)
}

// runs returns the number of scripts that the server was asked to run.
func (q queue) runs() int {
	q.t.Helper()
	info, err := q.redis.Info(q.t.Context(), "commandstats").Result()
	require.NoError(q.t, err)
	_, rest, found := strings.Cut(info, "cmdstat_evalsha:calls=")
	require.True(q.t, found)
	count, _, _ := strings.Cut(rest, ",")
	n, err := strconv.Atoi(count)
	require.NoError(q.t, err)
	return n
}

// The first ticket is one that its caller could not give back: the heartbeat removes it.
func TestAPlaceWithoutACallIsRemoved(t *testing.T) {
	t.Parallel()
	q := newQueue(t, nil)
	s := q.sidecar()
	g := q.hold(s)
	next := q.stand(t.Context(), s, 0)
	line := lease.LineKeysOf(coordtest.LockKey(coord.NewKeys(q.prefix, ""), "l")).Line
	require.NoError(t, q.redis.ZAdd(t.Context(), line, redis.Z{Score: -1, Member: s.Signals.Sidecar + ":0"}).Err())
	q.release(s, g.Token)
	q.served(next)
	q.places(0)
}
