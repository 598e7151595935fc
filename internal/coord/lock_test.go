package coord_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lock"

	goredis "github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// session is one whose losses can be waited for.
type session struct {
	*coord.Session
	leases *lease.Leases
	lost   chan coord.Loss
}

func (c session) Close(ctx context.Context) { c.leases.Close(ctx, c.Session) }
func (c session) Holding() bool             { return c.leases.Holding(c.Session) }

func openSession(t *testing.T, s *sidecar) session {
	t.Helper()
	lost := make(chan coord.Loss, 100)
	c := session{s.leases.Open(coord.Identity{Client: "test"}, func(l coord.Loss) { lost <- l }), s.leases, lost}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

// loss waits for the next one.
func (c session) loss(t *testing.T) coord.Loss {
	t.Helper()
	select {
	case l := <-c.lost:
		return l
	case <-time.After(30 * time.Second):
		t.Fatal("no loss is told")
		return coord.Loss{}
	}
}

func (c session) caller() coord.Caller { return coord.Caller{Session: c.Session} }

func bound(name string, ttl time.Duration) *api.LockAcquireParams {
	return &api.LockAcquireParams{Name: name, TTLMS: ttl.Milliseconds(), Bind: api.BindSession}
}

// unbound is a lock that lives for its TTL.
func unbound(name string, ttl time.Duration) *api.LockAcquireParams {
	return &api.LockAcquireParams{Name: name, TTLMS: ttl.Milliseconds(), Bind: api.BindTTL}
}

// number is a fence as a number.
func number(t *testing.T, fence string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(fence, 10, 64)
	require.NoError(t, err)
	return n
}

func take(t *testing.T, s *sidecar, c coord.Caller, p *api.LockAcquireParams) api.LockAcquireResult {
	t.Helper()
	g, err := s.locks.Acquire(t.Context(), c, p)
	require.NoError(t, err)
	require.True(t, g.Acquired)
	return g
}

// stored looks at a lock where it is kept.
type stored struct {
	t     *testing.T
	store *goredis.Client
	key   string
}

func (s stored) field(name string) string {
	return s.store.HGet(context.Background(), s.key, name).Val()
}

// until asks until the store says so.
func (s stored) until(says func() bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 30*time.Second)
	defer cancel()
	for !says() {
		require.NoError(s.t, ctx.Err(), "it never does")
	}
}

// onRedis is a sidecar on the shared server, by Redis's own clock.
func onRedis(t *testing.T) (*sidecar, func(name string) stored) {
	t.Helper()
	prefix := redistest.Prefix(t)
	s := newSidecar(t, openRunner(t, lua.Options{URL: redistest.URL(t)}), prefix)
	store := redistest.Client(t)
	return s, func(name string) stored { return stored{t, store, lock.LockKey(coord.NewKeys(prefix, ""), name)} }
}

func TestALockIsHeldFarBeyondItsTTL(t *testing.T) {
	t.Parallel()
	s, at := onRedis(t)
	c := openSession(t, s)
	take(t, s, c.caller(), bound("l", 3*time.Second))
	l, seen := at("l"), make(map[string]bool)
	// Seven renewals, each a second after the one before, are more than two TTLs.
	l.until(func() bool { seen[l.field("until")] = true; return len(seen) > 7 })
	require.Empty(t, c.lost)
	c.Close(t.Context())
	require.Empty(t, l.field("token"), "given back at once")
}

func TestALockDeletedByHandIsTold(t *testing.T) {
	t.Parallel()
	s, at := onRedis(t)
	c := openSession(t, s)
	// It is renewed after a third of this; where no answer came within the rest, it
	// would be unreachable.
	g := take(t, s, c.caller(), bound("l", 9*time.Second))
	require.NoError(t, at("l").store.Del(t.Context(), at("l").key).Err())
	loss := c.loss(t)
	require.Equal(t, coord.Loss{Noun: "lock", Name: "l", Token: g.Token, Fence: number(t, g.Fence), Reason: "expired"}, loss)
	require.Zero(t, s.leases.Held())
	require.Empty(t, at("l").field("token"), "and not taken again")
}

func TestTheFenceRisesThroughFlushAll(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := newSidecar(t, openRunner(t, lua.Options{URL: server.URL()}), "p")
	opt, err := goredis.ParseURL(server.URL())
	require.NoError(t, err)
	store := goredis.NewClient(opt)
	defer func() { require.NoError(t, store.Close()) }()
	c := openSession(t, s)
	for range 5 {
		first := take(t, s, c.caller(), bound("l", time.Hour))
		require.NoError(t, store.FlushAll(t.Context()).Err())
		second := take(t, s, coord.Caller{}, unbound("l", time.Minute))
		require.Greater(t, number(t, second.Fence), number(t, first.Fence))
		// The renewer's own renewal might come between the two, or too late.
		renewed, err := s.locks.Renew(t.Context(), c.caller(), &api.LockRenewParams{Name: "l", Token: first.Token, TTLMS: time.Hour.Milliseconds()})
		require.NoError(t, err)
		require.Equal(t, api.LockRenewResult{Reason: "not_owner"}, renewed)
		require.Equal(t, coord.Loss{Noun: "lock", Name: "l", Token: first.Token, Fence: number(t, first.Fence), Reason: "not_owner"}, c.loss(t))
		_, err = s.locks.Release(t.Context(), coord.Caller{}, &api.LockReleaseParams{Name: "l", Token: second.Token})
		require.NoError(t, err)
	}
}

func TestALockThatCannotBeRenewedIsTold(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := newSidecar(t, openRunner(t, lua.Options{URL: server.URL()}), "p")
	c := openSession(t, s)
	take(t, s, c.caller(), bound("l", 500*time.Millisecond))
	server.Stop()
	require.Equal(t, "unreachable", c.loss(t).Reason)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := s.locks.Acquire(ctx, c.caller(), bound("m", time.Second))
	requireCode(t, err, api.Unavailable, "redis")
	_, err = s.locks.Get(ctx, coord.Caller{}, &api.LockGetParams{Name: "l"})
	require.Error(t, err)
	_, err = s.locks.Renew(ctx, c.caller(), &api.LockRenewParams{Name: "l", Token: "t", TTLMS: time.Second.Milliseconds()})
	require.Error(t, err)
}

// mutable is a way to the shared server that can lose replies.
type mutable struct {
	t     *testing.T
	proxy *toxiproxy.Proxy
}

func throughProxy(t *testing.T) mutable {
	t.Helper()
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	p := toxiproxy.NewProxy(server, t.Name(), "127.0.0.1:0", strings.TrimPrefix(redistest.URL(t), "redis://"))
	require.NoError(t, p.Start())
	t.Cleanup(p.Stop)
	return mutable{t, p}
}

func (m mutable) url() string { return "redis://" + m.proxy.Listen }

func (m mutable) add(kind, attributes string) {
	m.t.Helper()
	_, err := m.proxy.Toxics.AddToxicJson(strings.NewReader(
		fmt.Sprintf(`{"type":%q,"name":%q,"stream":"downstream","attributes":{%s}}`, kind, kind, attributes)))
	require.NoError(m.t, err)
}

// mute loses every reply until heal, which cuts the connections.
func (m mutable) mute() { m.add("timeout", `"timeout":0`) }

func (m mutable) heal() { require.NoError(m.t, m.proxy.Toxics.RemoveToxic(m.t.Context(), "timeout")) }

func TestALostReplyToARenewalLosesNothing(t *testing.T) {
	t.Parallel()
	prefix, way := redistest.Prefix(t), throughProxy(t)
	s := newSidecar(t, openRunner(t, lua.Options{URL: way.url()}), prefix)
	l := stored{t, redistest.Client(t), lock.LockKey(coord.NewKeys(prefix, ""), "l")}
	c := openSession(t, s)
	take(t, s, c.caller(), bound("l", 3*time.Second))
	granted := l.field("until")
	way.mute()
	s.leases.Hasten()
	l.until(func() bool { return l.field("until") != granted }) // executed, and not answered
	way.heal()
	seen := make(map[string]bool)
	l.until(func() bool { seen[l.field("until")] = true; return len(seen) > 3 })
	require.Empty(t, c.lost)
	require.Equal(t, 1, s.leases.Held())
}

// TestNoLockIsRenewedAfterItsRelease races a renewal with each release, over a
// way whose delays put them in any order.
func TestNoLockIsRenewedAfterItsRelease(t *testing.T) {
	t.Parallel()
	prefix, way := redistest.Prefix(t), throughProxy(t)
	way.add("latency", `"latency":1,"jitter":1`)
	s := newSidecar(t, openRunner(t, lua.Options{URL: way.url()}), prefix)
	store, keys := redistest.Client(t), coord.NewKeys(prefix, "")
	c := openSession(t, s)
	var cycles atomic.Int64
	var wg sync.WaitGroup
	for g := range 64 {
		wg.Go(func() {
			for i := 0; cycles.Add(1) <= 10_000; i++ {
				name := fmt.Sprint(g, "/", i%7)
				// A day, so that no loss is ever due by itself.
				grant, err := s.locks.Acquire(t.Context(), c.caller(), bound(name, 24*time.Hour))
				if err != nil || !grant.Acquired {
					t.Errorf("acquire: %+v, %v", grant, err)
					return
				}
				s.leases.Hasten()
				r, err := s.locks.Release(t.Context(), c.caller(), &api.LockReleaseParams{Name: name, Token: grant.Token})
				if err != nil || !r.Released {
					t.Errorf("release: %+v, %v", r, err)
					return
				}
			}
		})
	}
	wg.Wait()
	require.Empty(t, c.lost)
	require.Zero(t, s.leases.Held())
	for g := range 64 {
		for i := range 7 {
			held := store.HExists(t.Context(), lock.LockKey(keys, fmt.Sprint(g, "/", i)), "token").Val()
			require.False(t, held, "a released lock is held again")
		}
	}
}

func TestACancelledAcquisitionIsGivenBack(t *testing.T) {
	t.Parallel()
	prefix, way := redistest.Prefix(t), throughProxy(t)
	s := newSidecar(t, openRunner(t, lua.Options{URL: way.url()}), prefix)
	l := stored{t, redistest.Client(t), lock.LockKey(coord.NewKeys(prefix, ""), "l")}
	c := openSession(t, s)
	take(t, s, c.caller(), bound("warm up", time.Minute))
	for _, r := range []*api.LockAcquireParams{bound("l", time.Minute), unbound("l", time.Minute)} {
		way.mute()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { _, err := s.locks.Acquire(ctx, c.caller(), r); done <- err }()
		l.until(func() bool { return l.field("token") != "" }) // granted, and not answered
		cancel()
		way.heal()
		err := <-done
		var e *coord.Error
		require.ErrorAs(t, err, &e)
		require.True(t, e.MaybeExecuted)
		l.until(func() bool { return l.field("token") == "" })
		require.Equal(t, 1, s.leases.Held(), "nothing of it is held")
	}
}

func TestAnUnansweredAcquisitionGoesWithItsSession(t *testing.T) {
	t.Parallel()
	prefix, way := redistest.Prefix(t), throughProxy(t)
	s := newSidecar(t, openRunner(t, lua.Options{URL: way.url()}), prefix)
	l := stored{t, redistest.Client(t), lock.LockKey(coord.NewKeys(prefix, ""), "l")}
	c := openSession(t, s)
	take(t, s, c.caller(), bound("warm up", time.Minute))
	r := bound("l", time.Minute)
	r.Token = "known to the caller"
	unanswered := func() (err error) {
		way.mute()
		defer way.heal()
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		_, err = s.locks.Acquire(ctx, c.caller(), r)
		return err
	}
	err := unanswered()
	// It may get a connection that is still being set up: then nothing was sent.
	for tries := 0; tries < 20 && !strings.Contains(err.Error(), "may have been executed"); tries++ {
		requireCode(t, err, api.Unavailable, "")
		l.until(func() bool {
			_, err := s.locks.Get(t.Context(), coord.Caller{}, &api.LockGetParams{Name: "warm up"})
			return err == nil
		})
		err = unanswered()
	}
	requireCode(t, err, api.Unavailable, "may have been executed")
	require.Equal(t, r.Token, l.field("token"), "the caller may try again, so that it is kept")
	require.Equal(t, 1, s.leases.Held(), "but not counted")
	c.Close(t.Context())
	l.until(func() bool { return l.field("token") == "" })
}

// hooked is a sidecar that does something once, when its nth script is about to run.
func hooked(t *testing.T, url string) (*sidecar, func(n int64, hook func())) {
	t.Helper()
	var countdown atomic.Int64
	var hook func()
	s := newSidecar(t, openRunner(t, lua.Options{URL: url, Clock: func() int64 {
		if countdown.Add(-1) == 0 {
			hook()
		}
		return 1_700_000_000_000_000
	}}), redistest.Prefix(t))
	return s, func(n int64, f func()) { hook = f; countdown.Store(n) }
}

func TestAGrantThatComesAfterItsSessionClosedIsGivenBack(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		s, before := hooked(t, url)
		c := openSession(t, s)
		before(1, func() { c.Close(context.Background()) })
		_, err := s.locks.Acquire(t.Context(), c.caller(), bound("l", time.Minute))
		requireCode(t, err, api.Cancelled, "given back")
		info, err := s.locks.Get(t.Context(), coord.Caller{}, &api.LockGetParams{Name: "l"})
		require.NoError(t, err)
		require.False(t, info.Held)
	})
}

func TestAReplayThatRacesTheOldSessionsEndTakesNothing(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		s, before := hooked(t, url)
		old, heir := openSession(t, s), openSession(t, s)
		caller := func(c session) coord.Caller {
			return coord.Caller{Session: c.Session, RequestID: "id", Fingerprint: "f"}
		}
		g := take(t, s, caller(old), bound("l", time.Minute))
		require.False(t, g.Replayed)
		// The latch answers, the lock is found alive; then the old connection ends.
		before(3, func() { old.Close(context.Background()) })
		again, err := s.locks.Acquire(t.Context(), caller(heir), bound("l", time.Minute))
		require.NoError(t, err)
		require.Equal(t, api.LockAcquireResult{Replayed: true, Reason: "released"}, again)
		info, err := s.locks.Get(t.Context(), coord.Caller{}, &api.LockGetParams{Name: "l"})
		require.NoError(t, err)
		require.False(t, info.Held, "what was taken anew was returned")
		require.Zero(t, s.leases.Held())
	})
}

func TestALockThatMovedToAnotherSidecarIsForgottenInSilence(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		sys := newSystem(t, url)
		a, b := sys.sidecars[0], sys.sidecars[1]
		old, heir := openSession(t, a), openSession(t, b)
		r := bound("l", time.Minute)
		r.Token = "mine"
		g := take(t, a, old.caller(), r)
		require.Equal(t, g.Fence, take(t, b, heir.caller(), r).Fence)
		a.leases.Hasten()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		for a.leases.Held() > 0 {
			require.NoError(t, ctx.Err(), "still renewed by the sidecar it left")
		}
		require.Empty(t, old.lost)
		require.Equal(t, 1, b.leases.Held())
	})
}

func TestAnExplicitRenewalSetsTheTTLOfThoseThatFollow(t *testing.T) {
	t.Parallel()
	sys := newSystem(t, redis.Embedded)
	s := sys.sidecars[0]
	c := openSession(t, s)
	g := take(t, s, c.caller(), bound("l", time.Minute))
	_, err := s.locks.Renew(t.Context(), c.caller(), &api.LockRenewParams{Name: "l", Token: g.Token, TTLMS: (2 * time.Hour).Milliseconds()})
	require.NoError(t, err)
	sys.Advance(time.Hour)
	s.leases.Hasten()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		info, err := s.locks.Get(ctx, coord.Caller{}, &api.LockGetParams{Name: "l"})
		require.NoError(t, err, "it is not renewed for two hours again")
		if info.TTLMS == (2 * time.Hour).Milliseconds() {
			break
		}
	}
}

func TestADrainingSidecarTakesNothingNew(t *testing.T) {
	t.Parallel()
	s := newSystem(t, redis.Embedded).sidecars[0]
	c := openSession(t, s)
	g := take(t, s, c.caller(), bound("l", time.Minute))
	s.leases.Drain()
	_, err := s.locks.Acquire(t.Context(), c.caller(), bound("m", time.Minute))
	requireCode(t, err, api.Draining, "shutting down")
	r, err := s.locks.Renew(t.Context(), c.caller(), &api.LockRenewParams{Name: "l", Token: g.Token, TTLMS: time.Minute.Milliseconds()})
	require.NoError(t, err)
	require.True(t, r.Renewed)
	d, err := s.limiter.Acquire(t.Context(), c.caller(), asks(inFull("k", band(1, time.Second)), 1))
	require.NoError(t, err)
	require.True(t, d.Allowed, "a decision holds nothing")
	released, err := s.locks.Release(t.Context(), c.caller(), &api.LockReleaseParams{Name: "l", Token: g.Token})
	require.NoError(t, err)
	require.True(t, released.Released)
}

func TestALockNeedsASessionToBeBoundTo(t *testing.T) {
	t.Parallel()
	s := newSystem(t, redis.Embedded).sidecars[0]
	_, err := s.locks.Acquire(t.Context(), coord.Caller{}, bound("l", time.Minute))
	requireCode(t, err, api.InvalidArgument, "bind: this call has no session")
	g := take(t, s, coord.Caller{}, unbound("l", time.Minute))
	require.Zero(t, s.leases.Held())
	require.Nil(t, g.HeldBy)
}

func TestARequestIDNeedNotBeSecretlyShared(t *testing.T) {
	t.Parallel()
	s := newSystem(t, redis.Embedded).sidecars[0]
	tokens := make(map[string]bool)
	for _, c := range []coord.Caller{
		{RequestID: "id", Fingerprint: "f"}, {RequestID: "i", Fingerprint: "df"}, {RequestID: "id2", Fingerprint: "f"}, {RequestID: "id", Fingerprint: "f2"}, {}, {},
	} {
		for _, name := range []string{"a", "b"} {
			g, err := s.locks.Acquire(t.Context(), c, unbound(name+c.Fingerprint+c.RequestID+fmt.Sprint(len(tokens)), time.Minute))
			require.NoError(t, err)
			require.GreaterOrEqual(t, len(g.Token), 26, "128 bits in base 32")
			tokens[g.Token] = true
		}
	}
	require.Len(t, tokens, 12, "each call has its own token")
}

func TestReleaseIsNotStoppedByItsCaller(t *testing.T) {
	t.Parallel()
	s, at := onRedis(t)
	c := openSession(t, s)
	g := take(t, s, c.caller(), bound("l", time.Minute))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := s.locks.Release(ctx, c.caller(), &api.LockReleaseParams{Name: "l", Token: g.Token})
	require.NoError(t, err)
	require.True(t, r.Released)
	require.Empty(t, at("l").field("token"))
}

func TestAFailedReleaseIsTriedAgainWhenTheSessionCloses(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := newSidecar(t, openRunner(t, lua.Options{URL: server.URL()}), "p")
	c := openSession(t, s)
	g := take(t, s, c.caller(), bound("l", time.Hour))
	opt, err := goredis.ParseURL(server.URL())
	require.NoError(t, err)
	store := goredis.NewClient(opt)
	defer func() { require.NoError(t, store.Close()) }()
	l := stored{t, store, lock.LockKey(coord.NewKeys("p", ""), "l")}
	// Redis answers nothing but errors to the script, as one that may not write does.
	require.NoError(t, store.ConfigSet(t.Context(), "min-replicas-to-write", "1").Err())
	_, err = s.locks.Release(t.Context(), c.caller(), &api.LockReleaseParams{Name: "l", Token: g.Token})
	requireCode(t, err, api.Unavailable, "redis")
	require.Zero(t, s.leases.Held())
	require.NoError(t, store.ConfigSet(t.Context(), "min-replicas-to-write", "0").Err())
	require.Equal(t, g.Token, l.field("token"))
	c.Close(t.Context())
	l.until(func() bool { return l.field("token") == "" })
}

// The commands of calls that were given up are still on their way when their
// session closes: what it gives back must not overtake them.
func TestAClosedSessionWaitsForWhatIsOnItsWay(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := newSidecar(t, openRunner(t, lua.Options{URL: server.URL()}), redistest.Prefix(t))
	c := openSession(t, s)
	take(t, s, c.caller(), bound("first", time.Hour)) // the connection is up
	server.Pause()
	const many = 200
	var wg sync.WaitGroup
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	for i := range many {
		wg.Go(func() {
			r := bound(fmt.Sprint("l", i), time.Hour)
			r.Token = "known to the client"
			_, err := s.locks.Acquire(ctx, c.caller(), r)
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
		info, err := s.locks.Get(t.Context(), coord.Caller{}, &api.LockGetParams{Name: fmt.Sprint("l", i)})
		require.NoError(t, err)
		require.False(t, info.Held, "lock %d is left to its TTL", i)
	}
}

// A forced release whose reply was lost is repeated while the next one has the lock.
func TestAForcedReleaseIsRunOnce(t *testing.T) {
	t.Parallel()
	s, _ := onRedis(t)
	first := take(t, s, coord.Caller{}, unbound("l", time.Hour))
	again := coord.Caller{RequestID: "the same", Fingerprint: "f"}
	freed, err := s.locks.ForceRelease(t.Context(), again, &api.LockForceReleaseParams{Name: "l", Reason: "test"})
	require.NoError(t, err)
	second := take(t, s, coord.Caller{}, unbound("l", time.Hour))
	repeated, err := s.locks.ForceRelease(t.Context(), again, &api.LockForceReleaseParams{Name: "l", Reason: "test"})
	require.NoError(t, err)
	require.Equal(t, freed, repeated)
	require.Equal(t, first.Fence, repeated.Fence, "it is about the one that it freed")
	now, err := s.locks.Get(t.Context(), coord.Caller{}, &api.LockGetParams{Name: "l"})
	require.NoError(t, err)
	require.Equal(t, second.Fence, now.Fence, "the next one keeps the lock")
}
