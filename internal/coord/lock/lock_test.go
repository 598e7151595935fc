package lock_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lock"
	"github.com/coxswain-sidecar/coxswain/internal/coordtest"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

func TestALockIsHeldFarBeyondItsTTL(t *testing.T) {
	t.Parallel()
	s, at := coordtest.OnRedis(t)
	c := coordtest.OpenSession(t, s)
	coordtest.Take(t, s, c.Caller(), coordtest.Bound("l", 3*time.Second))
	l, seen := at("l"), make(map[string]bool)
	// Seven renewals, one a second, take longer than two TTLs.
	coordtest.Until(t, func() bool { seen[l.Field("until")] = true; return len(seen) > 7 })
	require.Empty(t, c.Lost)
	c.Close(t.Context())
	require.Empty(t, l.Field("token"), "given back at once")
}

func TestALockDeletedByHandIsReportedLost(t *testing.T) {
	t.Parallel()
	s, at := coordtest.OnRedis(t)
	c := coordtest.OpenSession(t, s)
	// The lock is renewed after a third of its TTL. If Redis did not reply within the rest, the reason
	// of the loss would be unreachable.
	g := coordtest.Take(t, s, c.Caller(), coordtest.Bound("l", 9*time.Second))
	require.NoError(t, at("l").Store.Del(t.Context(), at("l").Key).Err())
	loss := c.Loss(t)
	require.Equal(t, coord.Loss{Noun: "lock", Name: "l", Token: g.Token, Fence: coordtest.Number(t, g.Fence), Reason: "expired"}, loss)
	require.Zero(t, s.Leases.Held())
	require.Empty(t, at("l").Field("token"), "and not taken again")
}

func TestTheFenceRisesThroughFlushAll(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := coordtest.New(t, luatest.Open(t, lua.Options{URL: server.URL()}), "p")
	opt, err := goredis.ParseURL(server.URL())
	require.NoError(t, err)
	store := goredis.NewClient(opt)
	defer func() { require.NoError(t, store.Close()) }()
	c := coordtest.OpenSession(t, s)
	for range 5 {
		first := coordtest.Take(t, s, c.Caller(), coordtest.Bound("l", time.Hour))
		require.NoError(t, store.FlushAll(t.Context()).Err())
		second := coordtest.Take(t, s, coord.Caller{}, coordtest.Unbound("l", time.Minute))
		require.Greater(t, coordtest.Number(t, second.Fence), coordtest.Number(t, first.Fence))
		// An explicit renewal, since the renewer's might run between the two steps, or too late.
		renewed, err := s.Locks.Renew(t.Context(), c.Caller(), &api.LockRenewParams{Name: "l", Token: first.Token, TTLMS: time.Hour.Milliseconds()})
		require.NoError(t, err)
		require.Equal(t, api.LockRenewResult{Reason: "not_owner"}, renewed)
		require.Equal(t, coord.Loss{Noun: "lock", Name: "l", Token: first.Token, Fence: coordtest.Number(t, first.Fence), Reason: "not_owner"}, c.Loss(t))
		_, err = s.Locks.Release(t.Context(), coord.Caller{}, &api.LockReleaseParams{Name: "l", Token: second.Token})
		require.NoError(t, err)
	}
}

func TestALockThatCannotBeRenewedIsReportedLost(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := coordtest.New(t, luatest.Open(t, lua.Options{URL: server.URL()}), "p")
	c := coordtest.OpenSession(t, s)
	coordtest.Take(t, s, c.Caller(), coordtest.Bound("l", 3*time.Second))
	server.Stop()
	require.Equal(t, "unreachable", c.Loss(t).Reason)
	// Redis is known to be down, so that no call lasts until its deadline.
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	_, err := s.Locks.Acquire(ctx, c.Caller(), coordtest.Bound("m", time.Second))
	coordtest.RequireCode(t, err, api.Unavailable, "redis")
	_, err = s.Locks.Get(ctx, coord.Caller{}, &api.LockGetParams{Name: "l"})
	require.Error(t, err)
	_, err = s.Locks.Renew(ctx, c.Caller(), &api.LockRenewParams{Name: "l", Token: "t", TTLMS: time.Second.Milliseconds()})
	require.Error(t, err)
}

func TestACancelledAcquisitionIsGivenBack(t *testing.T) {
	t.Parallel()
	prefix, way := redistest.Prefix(t), coordtest.ThroughProxy(t)
	s := coordtest.New(t, luatest.Open(t, lua.Options{URL: way.URL()}), prefix)
	l := redistest.Stored{Store: redistest.Client(t), Key: coordtest.LockKey(coord.NewKeys(prefix, ""), "l")}
	c := coordtest.OpenSession(t, s)
	coordtest.Take(t, s, c.Caller(), coordtest.Bound("warm up", time.Minute))
	for _, r := range []*api.LockAcquireParams{coordtest.Bound("l", time.Minute), coordtest.Unbound("l", time.Minute)} {
		way.Mute()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { _, err := s.Locks.Acquire(ctx, c.Caller(), r); done <- err }()
		coordtest.Until(t, func() bool { return l.Field("token") != "" }) // granted, but its reply has not arrived
		cancel()
		way.Heal()
		err := <-done
		var e *coord.Error
		require.ErrorAs(t, err, &e)
		require.True(t, e.MaybeExecuted)
		coordtest.Until(t, func() bool { return l.Field("token") == "" })
		require.Equal(t, 1, s.Leases.Held(), "nothing of it is held")
	}
}

func TestAnUnansweredAcquisitionIsGivenBackWithItsSession(t *testing.T) {
	t.Parallel()
	prefix, way := redistest.Prefix(t), coordtest.ThroughProxy(t)
	s := coordtest.New(t, luatest.Open(t, lua.Options{URL: way.URL()}), prefix)
	l := redistest.Stored{Store: redistest.Client(t), Key: coordtest.LockKey(coord.NewKeys(prefix, ""), "l")}
	c := coordtest.OpenSession(t, s)
	coordtest.Take(t, s, c.Caller(), coordtest.Bound("warm up", time.Minute))
	r := coordtest.Bound("l", time.Minute)
	r.Token = "known to the caller"
	within := 200 * time.Millisecond
	unanswered := func() (err error) {
		way.Mute()
		defer way.Heal()
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		_, err = s.Locks.Acquire(ctx, c.Caller(), r)
		return err
	}
	err := unanswered()
	// If the call gets a connection that is still being set up, or its deadline passes before it has one, nothing was sent.
	for ; within < 30*time.Second && !strings.Contains(err.Error(), "may have been executed"); within += within / 4 {
		require.Contains(t, []api.Code{api.Unavailable, api.DeadlineExceeded}, coord.Wire(err).Code, "%v", err)
		coordtest.Until(t, func() bool {
			_, err := s.Locks.Get(t.Context(), coord.Caller{}, &api.LockGetParams{Name: "warm up"})
			return err == nil
		})
		err = unanswered()
	}
	coordtest.RequireCode(t, err, api.Unavailable, "may have been executed")
	require.Equal(t, r.Token, l.Field("token"), "the caller may try again, so that it is kept")
	require.Equal(t, 1, s.Leases.Held(), "but not counted")
	c.Close(t.Context())
	coordtest.Until(t, func() bool { return l.Field("token") == "" })
}

func TestAGrantThatComesAfterItsSessionClosedIsGivenBack(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		s, before := coordtest.Hooked(t, url)
		c := coordtest.OpenSession(t, s)
		before(1, func() { c.Close(context.Background()) })
		_, err := s.Locks.Acquire(t.Context(), c.Caller(), coordtest.Bound("l", time.Minute))
		coordtest.RequireCode(t, err, api.Cancelled, "given back")
		info, err := s.Locks.Get(t.Context(), coord.Caller{}, &api.LockGetParams{Name: "l"})
		require.NoError(t, err)
		require.False(t, info.Held)
	})
}

func TestAReplayThatRacesTheOldSessionsEndTakesNothing(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		s, before := coordtest.Hooked(t, url)
		old, heir := coordtest.OpenSession(t, s), coordtest.OpenSession(t, s)
		caller := func(c coordtest.Session) coord.Caller {
			return coord.Caller{Session: c.Session, RequestID: "id", Fingerprint: "f"}
		}
		g := coordtest.Take(t, s, caller(old), coordtest.Bound("l", time.Minute))
		require.False(t, g.Replayed)
		// The stored reply is returned and the lock is found held; then the old connection ends.
		before(3, func() { old.Close(context.Background()) })
		again, err := s.Locks.Acquire(t.Context(), caller(heir), coordtest.Bound("l", time.Minute))
		require.NoError(t, err)
		require.Equal(t, api.LockAcquireResult{Replayed: true, Reason: "released"}, again)
		info, err := s.Locks.Get(t.Context(), coord.Caller{}, &api.LockGetParams{Name: "l"})
		require.NoError(t, err)
		require.False(t, info.Held, "what was taken anew was returned")
		require.Zero(t, s.Leases.Held())
	})
}

func TestADrainingSidecarGrantsNothing(t *testing.T) {
	t.Parallel()
	s := coordtest.NewSystem(t, redis.Embedded).Sidecars[0]
	c := coordtest.OpenSession(t, s)
	g := coordtest.Take(t, s, c.Caller(), coordtest.Bound("l", time.Minute))
	s.Leases.Drain()
	_, err := s.Locks.Acquire(t.Context(), c.Caller(), coordtest.Bound("m", time.Minute))
	coordtest.RequireCode(t, err, api.Draining, "shutting down")
	r, err := s.Locks.Renew(t.Context(), c.Caller(), &api.LockRenewParams{Name: "l", Token: g.Token, TTLMS: time.Minute.Milliseconds()})
	require.NoError(t, err)
	require.True(t, r.Renewed)
	d, err := s.Limiter.Acquire(t.Context(), c.Caller(), &api.RatelimitParams{
		Algorithm: api.AlgorithmTokenBucket, Key: "k", Cost: 1, Limits: []api.Band{{Limit: 1, PeriodMS: 1000}},
	})
	require.NoError(t, err)
	require.True(t, d.Allowed, "a decision holds nothing")
	released, err := s.Locks.Release(t.Context(), c.Caller(), &api.LockReleaseParams{Name: "l", Token: g.Token})
	require.NoError(t, err)
	require.True(t, released.Released)
}

func TestALockNeedsASessionToBeBoundTo(t *testing.T) {
	t.Parallel()
	s := coordtest.NewSystem(t, redis.Embedded).Sidecars[0]
	_, err := s.Locks.Acquire(t.Context(), coord.Caller{}, coordtest.Bound("l", time.Minute))
	coordtest.RequireCode(t, err, api.InvalidArgument, "bind: this call has no session")
	g := coordtest.Take(t, s, coord.Caller{}, coordtest.Unbound("l", time.Minute))
	require.Zero(t, s.Leases.Held())
	require.Nil(t, g.HeldBy)
}

func TestARequestIDNeedNotBeSecret(t *testing.T) {
	t.Parallel()
	s := coordtest.NewSystem(t, redis.Embedded).Sidecars[0]
	tokens := make(map[string]bool)
	for _, c := range []coord.Caller{
		{RequestID: "id", Fingerprint: "f"}, {RequestID: "i", Fingerprint: "df"}, {RequestID: "id2", Fingerprint: "f"}, {RequestID: "id", Fingerprint: "f2"}, {}, {},
	} {
		for _, name := range []string{"a", "b"} {
			g, err := s.Locks.Acquire(t.Context(), c, coordtest.Unbound(name+c.Fingerprint+c.RequestID+fmt.Sprint(len(tokens)), time.Minute))
			require.NoError(t, err)
			require.GreaterOrEqual(t, len(g.Token), 26, "128 bits in base 32")
			tokens[g.Token] = true
		}
	}
	require.Len(t, tokens, 12, "each call has its own token")
}

func TestReleaseIsNotStoppedByItsCaller(t *testing.T) {
	t.Parallel()
	s, at := coordtest.OnRedis(t)
	c := coordtest.OpenSession(t, s)
	g := coordtest.Take(t, s, c.Caller(), coordtest.Bound("l", time.Minute))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := s.Locks.Release(ctx, c.Caller(), &api.LockReleaseParams{Name: "l", Token: g.Token})
	require.NoError(t, err)
	require.True(t, r.Released)
	require.Empty(t, at("l").Field("token"))
}

func TestAFailedReleaseIsTriedAgainWhenTheSessionCloses(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := coordtest.New(t, luatest.Open(t, lua.Options{URL: server.URL()}), "p")
	c := coordtest.OpenSession(t, s)
	g := coordtest.Take(t, s, c.Caller(), coordtest.Bound("l", time.Hour))
	opt, err := goredis.ParseURL(server.URL())
	require.NoError(t, err)
	store := goredis.NewClient(opt)
	defer func() { require.NoError(t, store.Close()) }()
	l := redistest.Stored{Store: store, Key: coordtest.LockKey(coord.NewKeys("p", ""), "l")}
	// Redis replies to the script with an error, as a server that must not write does.
	require.NoError(t, store.ConfigSet(t.Context(), "min-replicas-to-write", "1").Err())
	_, err = s.Locks.Release(t.Context(), c.Caller(), &api.LockReleaseParams{Name: "l", Token: g.Token})
	coordtest.RequireCode(t, err, api.Unavailable, "redis")
	require.Zero(t, s.Leases.Held())
	require.NoError(t, store.ConfigSet(t.Context(), "min-replicas-to-write", "0").Err())
	require.Equal(t, g.Token, l.Field("token"))
	c.Close(t.Context())
	coordtest.Until(t, func() bool { return l.Field("token") == "" })
}

// The commands of cancelled calls are still on their way to Redis when their session closes. The
// releases that the session sends must not overtake them.
func TestAClosedSessionReleasesAfterCommandsOnTheirWay(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := coordtest.New(t, luatest.Open(t, lua.Options{URL: server.URL()}), redistest.Prefix(t))
	c := coordtest.OpenSession(t, s)
	coordtest.Take(t, s, c.Caller(), coordtest.Bound("first", time.Hour)) // the connection is up
	server.Pause()
	const many = 200
	var wg sync.WaitGroup
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	for i := range many {
		wg.Go(func() {
			r := coordtest.Bound(fmt.Sprint("l", i), time.Hour)
			r.Token = "known to the client"
			_, err := s.Locks.Acquire(ctx, c.Caller(), r)
			require.Error(t, err)
		})
	}
	wg.Wait()
	closed := make(chan struct{})
	go func() {
		c.Close(context.Background())
		close(closed)
	}()
	server.Resume()
	<-closed
	for i := range many {
		info, err := s.Locks.Get(t.Context(), coord.Caller{}, &api.LockGetParams{Name: fmt.Sprint("l", i)})
		require.NoError(t, err)
		require.False(t, info.Held, "lock %d is left to its TTL", i)
	}
}

// A forced release whose reply was lost is repeated while the next owner holds the lock.
func TestAForcedReleaseIsRunOnce(t *testing.T) {
	t.Parallel()
	s, _ := coordtest.OnRedis(t)
	first := coordtest.Take(t, s, coord.Caller{}, coordtest.Unbound("l", time.Hour))
	again := coord.Caller{RequestID: "the same", Fingerprint: "f"}
	freed, err := s.Locks.ForceRelease(t.Context(), again, &api.LockForceReleaseParams{Name: "l", Reason: "test"})
	require.NoError(t, err)
	second := coordtest.Take(t, s, coord.Caller{}, coordtest.Unbound("l", time.Hour))
	repeated, err := s.Locks.ForceRelease(t.Context(), again, &api.LockForceReleaseParams{Name: "l", Reason: "test"})
	require.NoError(t, err)
	require.Equal(t, freed, repeated)
	require.Equal(t, first.Fence, repeated.Fence, "it is about the one that it freed")
	now, err := s.Locks.Get(t.Context(), coord.Caller{}, &api.LockGetParams{Name: "l"})
	require.NoError(t, err)
	require.Equal(t, second.Fence, now.Fence, "the next one keeps the lock")
}

// A free lock is not granted to a newcomer while a live sidecar has a waiter in its line.
func TestAFreeLockIsExplainedByItsLine(t *testing.T) {
	t.Parallel()
	s := coordtest.NewSystem(t, redis.Embedded).Sidecars[0]
	explain := func() api.LockExplainResult {
		r, err := s.Locks.Explain(t.Context(), coord.Caller{}, &api.LockGetParams{Name: "l"})
		require.NoError(t, err)
		return r
	}
	g := coordtest.Take(t, s, coord.Caller{}, coordtest.Unbound("l", time.Minute))
	key := coordtest.LockKey(s.Keys, "l")
	_, err := lua.Run(t.Context(), s.Runner, lock.AcquireScript, lock.AcquireIn{
		Lock: key, LineKeys: lease.LineKeysOf(key), Token: "other", TTLMS: 60_000, Waiter: "elsewhere:1", HeartbeatMS: 60_000,
	}, lua.StoredReply{})
	require.NoError(t, err)
	_, err = s.Locks.Release(t.Context(), coord.Caller{}, &api.LockReleaseParams{Name: "l", Token: g.Token})
	require.NoError(t, err)
	r := explain()
	require.Equal(t, []any{"busy", false, int64(1000), int64(1)}, []any{r.Decision, r.Held, r.RetryAfterMS, r.Waiting})
	require.Equal(t, []api.ExplainLine{{Sidecar: "elsewhere", Waiting: 1, LeftMS: r.Line[0].LeftMS}}, r.Line)
	require.Positive(t, r.Line[0].LeftMS)
	require.Equal(t, "lock l is free; calls ahead in the waiting line: 1", r.Text)
	refused, err := s.Locks.Acquire(t.Context(), coord.Caller{}, coordtest.Unbound("l", time.Minute))
	require.NoError(t, err)
	require.Equal(t, []any{false, "busy"}, []any{refused.Acquired, refused.Reason}, "as explained")
}
