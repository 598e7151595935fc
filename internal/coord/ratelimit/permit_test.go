package ratelimit_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/conformance"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/coordtest"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// withMaxConcurrent runs a test on each store, with two sidecars that have one rule "r" with this max_concurrent.
func withMaxConcurrent(t *testing.T, maxConcurrent int64, bands []api.Band, test func(t *testing.T, s *coordtest.System)) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		s := coordtest.NewSystem(t, url)
		for _, c := range s.Sidecars {
			require.NoError(t, c.Rules.Set([]api.Rule{{
				Name: "r", Algorithm: "token_bucket", Limits: bands, MaxConcurrent: maxConcurrent,
			}}, 1))
		}
		test(t, s)
	})
}

// acquirePermit asks for cost 1 of the rule.
func acquirePermit(ctx context.Context, s *coordtest.Sidecar, c coord.Caller, wait time.Duration) (api.RatelimitResult, error) {
	return s.Limiter.Acquire(ctx, c, waits(byRule("r", "k"), 1, wait))
}

func mustAcquirePermit(t *testing.T, s *coordtest.Sidecar, c coord.Caller, wait time.Duration) api.RatelimitResult {
	t.Helper()
	d, err := acquirePermit(t.Context(), s, c, wait)
	require.NoError(t, err)
	return d
}

// used returns how much of the rule is used.
func used(t *testing.T, s *coordtest.Sidecar) int64 {
	t.Helper()
	d, err := s.Limiter.Peek(t.Context(), coord.Caller{}, asks(byRule("r", "k"), 0))
	require.NoError(t, err)
	return d.Current
}

func TestAsManyGrantsAreHeldAsTheRuleSays(t *testing.T) {
	withMaxConcurrent(t, 2, []api.Band{band(10, time.Hour)}, func(t *testing.T, s *coordtest.System) {
		a, b := s.Sidecars[0], s.Sidecars[1]
		one, two := coordtest.OpenSession(t, a), coordtest.OpenSession(t, b)
		first := mustAcquirePermit(t, a, one.Caller(), 0)
		require.True(t, first.Allowed)
		require.True(t, first.Held)
		require.True(t, mustAcquirePermit(t, b, two.Caller(), 0).Allowed)
		refused := mustAcquirePermit(t, b, two.Caller(), 0)
		require.False(t, refused.Allowed)
		require.Equal(t, ratelimit.ReasonConcurrency, refused.DeniedBy)
		require.Positive(t, millis(refused.RetryAfterMS))
		require.EqualValues(t, 2, used(t, a), "a refusal takes nothing")
		looked, err := b.Limiter.Peek(t.Context(), coord.Caller{}, asks(byRule("r", "k"), 1))
		require.NoError(t, err)
		require.Equal(t, ratelimit.ReasonConcurrency, looked.DeniedBy)

		// In another sidecar, and once only.
		for _, want := range []bool{true, false} {
			done, err := b.Limiter.Done(t.Context(), two.Caller(), ended(first.Grant))
			require.NoError(t, err)
			require.Equal(t, want, done.Done)
		}
		require.True(t, mustAcquirePermit(t, a, one.Caller(), 0).Allowed)
		require.False(t, mustAcquirePermit(t, a, one.Caller(), 0).Allowed)

		// The end of a connection frees what it holds.
		two.Close(t.Context())
		require.True(t, mustAcquirePermit(t, a, one.Caller(), 0).Allowed)
		require.EqualValues(t, 4, used(t, a), "what a grant took stays taken")

		_, err = a.Limiter.Done(t.Context(), one.Caller(), ended("nonsense"))
		require.ErrorContains(t, err, "grant: ")
	})
}

func TestWaitingCallsGetPermitsInTheirTurn(t *testing.T) {
	withMaxConcurrent(t, 1, []api.Band{band(10, time.Hour)}, func(t *testing.T, s *coordtest.System) {
		a, b := s.Sidecars[0], s.Sidecars[1]
		who := coordtest.OpenSession(t, a)
		held := mustAcquirePermit(t, a, who.Caller(), 0)
		type end struct {
			d   api.RatelimitResult
			err error
		}
		enter := func(c *coordtest.Sidecar, n int) (chan end, context.CancelFunc) {
			ended := make(chan end, 1)
			ctx, cancel := context.WithCancel(t.Context())
			t.Cleanup(cancel)
			caller := coordtest.OpenSession(t, c).Caller()
			go func() {
				d, err := acquirePermit(ctx, c, caller, time.Minute)
				ended <- end{d, err}
			}()
			require.Eventually(t, func() bool { return c.Lines.Waiting() == n }, 30*time.Second, time.Millisecond)
			return ended, cancel
		}
		first, leave := enter(b, 1)
		second, _ := enter(a, 1)
		third, _ := enter(b, 2)
		require.EqualValues(t, 1, used(t, a), "waiting in line takes nothing")
		require.False(t, mustAcquirePermit(t, b, who.Caller(), 0).Allowed)

		leave()
		require.Error(t, (<-first).err)
		for _, next := range []chan end{second, third} {
			_, err := a.Limiter.Done(t.Context(), who.Caller(), ended(held.Grant))
			require.NoError(t, err)
			e := <-next
			require.NoError(t, e.err)
			require.True(t, e.d.Allowed)
			held = e.d
		}
		require.EqualValues(t, 3, used(t, a))
	})
}

func TestACallThatEndsReleasesItsPermitAndItsSlot(t *testing.T) {
	withMaxConcurrent(t, 2, []api.Band{band(1, 2*time.Second)}, func(t *testing.T, s *coordtest.System) {
		a, b := s.Sidecars[0], s.Sidecars[1]
		who := coordtest.OpenSession(t, a)
		require.True(t, mustAcquirePermit(t, a, who.Caller(), 0).Allowed)
		ctx, cancel := context.WithCancel(t.Context())
		waiter := coordtest.OpenSession(t, b)
		ended := make(chan error, 1)
		go func() {
			_, err := acquirePermit(ctx, b, waiter.Caller(), 10*time.Second)
			ended <- err
		}()
		require.Eventually(t, func() bool { return used(t, a) == 2 }, 30*time.Second, time.Millisecond)
		require.Equal(t, ratelimit.ReasonConcurrency, mustAcquirePermit(t, a, who.Caller(), 0).DeniedBy, "it holds its permit while it waits")
		cancel()
		require.Error(t, <-ended)
		require.EqualValues(t, 1, used(t, a))
		require.Equal(t, ratelimit.ReasonLimit, mustAcquirePermit(t, a, who.Caller(), 0).DeniedBy)
		require.False(t, waiter.Holding())
	})
}

func TestAReplayIsRefusedOnceItsPermitHasEnded(t *testing.T) {
	withMaxConcurrent(t, 1, []api.Band{band(10, time.Hour)}, func(t *testing.T, s *coordtest.System) {
		a, b := s.Sidecars[0], s.Sidecars[1]
		one, two := coordtest.OpenSession(t, a), coordtest.OpenSession(t, b)
		asks := func(s coordtest.Session) coord.Caller {
			return coord.Caller{Session: s.Session, RequestID: "id", Fingerprint: "f"}
		}
		first := mustAcquirePermit(t, a, asks(one), 0)
		again := mustAcquirePermit(t, b, asks(two), 0)
		require.True(t, again.Allowed)
		require.True(t, again.Replayed)
		require.True(t, again.Held)
		require.Equal(t, first.Grant, again.Grant)
		require.EqualValues(t, 1, used(t, a))

		// It is the second session's now: the end of the first frees nothing.
		one.Close(t.Context())
		require.Equal(t, ratelimit.ReasonConcurrency, mustAcquirePermit(t, b, two.Caller(), 0).DeniedBy)
		two.Close(t.Context())
		gone := mustAcquirePermit(t, a, asks(coordtest.OpenSession(t, a)), 0)
		require.False(t, gone.Allowed)
		require.True(t, gone.Replayed)
		require.Empty(t, gone.Grant)
		require.False(t, gone.Held)
		require.EqualValues(t, 1, used(t, a), "nothing is taken again")
	})
}

func TestNoPermitsAreGivenOutWhileDraining(t *testing.T) {
	withMaxConcurrent(t, 1, []api.Band{band(10, time.Hour)}, func(t *testing.T, s *coordtest.System) {
		a := s.Sidecars[0]
		who := coordtest.OpenSession(t, a)
		a.Leases.Drain()
		_, err := acquirePermit(t.Context(), a, who.Caller(), 0)
		var e *coord.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, api.Draining, e.Code)
	})
}

// Its reply arrives, since the call could have been promised a slot, but no caller receives it.
func TestACallThatIsCancelledUnderWayReleasesItsPermit(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	clock := conformance.NewClock()
	var late atomic.Bool
	r := luatest.Open(t, lua.Options{URL: redis.Embedded, Clock: func() int64 {
		if late.Swap(false) {
			cancel() // as the script is sent
		}
		return clock.Micros()
	}})
	s := coordtest.NewWith(t, r, "p", coordtest.Options{Clock: clock})
	require.NoError(t, s.Rules.Set([]api.Rule{{
		Name: "r", Algorithm: "fixed_window", Limits: []api.Band{band(10, time.Hour)}, MaxConcurrent: 1,
	}}, 1))
	who := coordtest.OpenSession(t, s)
	// The seal of grants is read once, by a script of its own.
	_, err := s.Limiter.Peek(ctx, coord.Caller{}, asks(byRule("r", "k"), 1))
	require.NoError(t, err)
	late.Store(true)
	_, err = acquirePermit(ctx, s, who.Caller(), time.Minute)
	var e *coord.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, api.Cancelled, e.Code)
	require.False(t, who.Holding())
	require.EqualValues(t, 1, used(t, s), "what it took stays taken")
	require.True(t, mustAcquirePermit(t, s, who.Caller(), 0).Allowed)
}

func TestADrainEndsCallsInTheWaitingLine(t *testing.T) {
	withMaxConcurrent(t, 1, []api.Band{band(10, time.Hour)}, func(t *testing.T, s *coordtest.System) {
		a := s.Sidecars[0]
		holder, waiter := coordtest.OpenSession(t, a), coordtest.OpenSession(t, a)
		require.True(t, mustAcquirePermit(t, a, holder.Caller(), 0).Allowed)
		ended := make(chan error, 1)
		go func() {
			_, err := acquirePermit(t.Context(), a, waiter.Caller(), time.Minute)
			ended <- err
		}()
		require.Eventually(t, func() bool { return a.Lines.Waiting() == 1 }, 30*time.Second, time.Millisecond)
		a.Leases.Drain()
		var e *coord.Error
		require.ErrorAs(t, <-ended, &e)
		require.Equal(t, api.Draining, e.Code)
	})
}

func TestARepetitionOfAcquireAnyIsRefusedOnceItsPermitHasEnded(t *testing.T) {
	withMaxConcurrent(t, 1, []api.Band{band(10, time.Hour)}, func(t *testing.T, s *coordtest.System) {
		a, b := s.Sidecars[0], s.Sidecars[1]
		ask := func(s *coordtest.Sidecar, c coordtest.Session) (string, api.RatelimitResult) {
			r, err := s.Limiter.AcquireAny(t.Context(), coord.Caller{Session: c.Session, RequestID: "id", Fingerprint: "f"}, &api.RatelimitAnyParams{
				Rule: "r", Keys: []string{"k", "other"}, Cost: 1,
			})
			require.NoError(t, err)
			return r.Key, r.Result
		}
		one, two := coordtest.OpenSession(t, a), coordtest.OpenSession(t, b)
		key, d := ask(a, one)
		require.Equal(t, "k", key)
		require.True(t, d.Held)
		key, again := ask(b, two)
		require.Equal(t, "k", key)
		require.True(t, again.Held)
		require.Equal(t, d.Grant, again.Grant)
		one.Close(t.Context())
		require.True(t, two.Holding(), "it is the second session's now")
		two.Close(t.Context())
		require.True(t, mustAcquirePermit(t, a, coordtest.OpenSession(t, a).Caller(), 0).Allowed)
		_, gone := ask(b, coordtest.OpenSession(t, b))
		require.False(t, gone.Allowed, "another session holds the permit")
		require.True(t, gone.Replayed)
	})
}

func TestARepetitionOutlivesAReload(t *testing.T) {
	t.Parallel()
	s := coordtest.NewSystem(t, redistest.URL(t)).Sidecars[0]
	who := coordtest.OpenSession(t, s)
	asks := coord.Caller{Session: who.Session, RequestID: "id", Fingerprint: "f"}
	for i, rule := range []api.Rule{
		{Name: "r", Algorithm: "token_bucket", Limits: []api.Band{band(10, time.Hour)}},
		{Name: "r", Algorithm: "token_bucket", Limits: []api.Band{band(10, time.Hour), band(20, 24*time.Hour)}},
		{Name: "r", Algorithm: "token_bucket", Limits: []api.Band{band(10, time.Hour)}},
	} {
		require.NoError(t, s.Rules.Set([]api.Rule{rule}, int64(i+1)))
		d := mustAcquirePermit(t, s, asks, 0)
		require.True(t, d.Allowed)
		require.Equal(t, i > 0, d.Replayed)
	}
}
