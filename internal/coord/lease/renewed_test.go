package lease_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/coordtest"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// The renewer, with locks and tickets in a real Redis.

func TestALostReplyToARenewalLosesNothing(t *testing.T) {
	t.Parallel()
	prefix, way := redistest.Prefix(t), coordtest.ThroughProxy(t)
	s := coordtest.New(t, luatest.Open(t, lua.Options{URL: way.URL()}), prefix)
	l := redistest.Stored{Store: redistest.Client(t), Key: coordtest.LockKey(coord.NewKeys(prefix, ""), "l")}
	c := coordtest.OpenSession(t, s)
	coordtest.Take(t, s, c.Caller(), coordtest.Bound("l", time.Hour)) // it does not end before its renewal
	granted := l.Field("until")
	way.Mute()
	s.Leases.Hasten()
	coordtest.Until(t, func() bool { return l.Field("until") != granted }) // it has run, without a reply
	way.Heal()
	seen := make(map[string]bool)
	coordtest.Until(t, func() bool {
		s.Leases.Hasten()
		seen[l.Field("until")] = true
		return len(seen) > 3
	})
	require.Empty(t, c.Lost)
	require.Equal(t, 1, s.Leases.Held())
}

// TestNoLockIsRenewedAfterItsRelease races a renewal with each release, over connections whose delays put them in any
// order.
func TestNoLockIsRenewedAfterItsRelease(t *testing.T) {
	t.Parallel()
	prefix, way := redistest.Prefix(t), coordtest.ThroughProxy(t)
	way.Add("latency", `"latency":1,"jitter":1`)
	s := coordtest.New(t, luatest.Open(t, lua.Options{URL: way.URL()}), prefix)
	store, keys := redistest.Client(t), coord.NewKeys(prefix, "")
	c := coordtest.OpenSession(t, s)
	var cycles atomic.Int64
	var wg sync.WaitGroup
	for g := range 64 {
		wg.Go(func() {
			for i := 0; cycles.Add(1) <= 10_000; i++ {
				name := fmt.Sprint(g, "/", i%7)
				// A day, so that the lock never ends by its TTL.
				grant, err := s.Locks.Acquire(t.Context(), c.Caller(), coordtest.Bound(name, 24*time.Hour))
				if err != nil || !grant.Acquired {
					t.Errorf("acquire: %+v, %v", grant, err)
					return
				}
				s.Leases.Hasten()
				r, err := s.Locks.Release(t.Context(), c.Caller(), &api.LockReleaseParams{Name: name, Token: grant.Token})
				if err != nil || !r.Released {
					t.Errorf("release: %+v, %v", r, err)
					return
				}
			}
		})
	}
	wg.Wait()
	require.Empty(t, c.Lost)
	require.Zero(t, s.Leases.Held())
	for g := range 64 {
		for i := range 7 {
			held := store.HExists(t.Context(), coordtest.LockKey(keys, fmt.Sprint(g, "/", i)), "token").Val()
			require.False(t, held, "a released lock is held again")
		}
	}
}

func TestALockThatMovedToAnotherSidecarIsForgottenInSilence(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		sys := coordtest.NewSystem(t, url)
		a, b := sys.Sidecars[0], sys.Sidecars[1]
		old, heir := coordtest.OpenSession(t, a), coordtest.OpenSession(t, b)
		r := coordtest.Bound("l", time.Minute)
		r.Token = "mine"
		g := coordtest.Take(t, a, old.Caller(), r)
		require.Equal(t, g.Fence, coordtest.Take(t, b, heir.Caller(), r).Fence)
		a.Leases.Hasten()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		for a.Leases.Held() > 0 {
			require.NoError(t, ctx.Err(), "still renewed by the sidecar it left")
		}
		require.Empty(t, old.Lost)
		require.Equal(t, 1, b.Leases.Held())
	})
}

func TestAnExplicitRenewalSetsTheTTLOfThoseThatFollow(t *testing.T) {
	t.Parallel()
	sys := coordtest.NewSystem(t, redis.Embedded)
	s := sys.Sidecars[0]
	c := coordtest.OpenSession(t, s)
	g := coordtest.Take(t, s, c.Caller(), coordtest.Bound("l", time.Minute))
	_, err := s.Locks.Renew(t.Context(), c.Caller(), &api.LockRenewParams{Name: "l", Token: g.Token, TTLMS: (2 * time.Hour).Milliseconds()})
	require.NoError(t, err)
	sys.Advance(time.Hour)
	s.Leases.Hasten()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		info, err := s.Locks.Get(ctx, coord.Caller{}, &api.LockGetParams{Name: "l"})
		require.NoError(t, err, "it is not renewed for two hours again")
		if info.TTLMS == (2 * time.Hour).Milliseconds() {
			break
		}
	}
}

func TestALostPermitOfALimitIsReported(t *testing.T) {
	t.Parallel()
	s := coordtest.NewSystem(t, redis.Embedded)
	a := s.Sidecars[0]
	require.NoError(t, a.Rules.Set([]api.Rule{{
		Name: "r", Algorithm: "token_bucket", Limits: []api.Band{{Limit: 10, PeriodMS: 3_600_000}}, MaxConcurrent: 1,
	}}, 1))
	who := coordtest.OpenSession(t, a)
	d, err := a.Limiter.Acquire(t.Context(), who.Caller(), &api.RatelimitParams{Rule: "r", Key: "k", Cost: 1})
	require.NoError(t, err)
	require.True(t, d.Allowed)
	s.Advance(time.Hour)
	a.Leases.Hasten()
	lost := who.Loss(t)
	require.Equal(t, coord.Loss{Noun: "ratelimit", Name: "r:k", Token: d.Grant, Reason: lease.ReasonExpired}, lost)
}
