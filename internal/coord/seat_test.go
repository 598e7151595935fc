package coord_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/conformance"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// seatsOf is two sidecars with one rule "r" of max places, on each store.
func seatsOf(t *testing.T, maxConcurrent int64, bands []api.Band, test func(t *testing.T, s *system)) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		s := newSystem(t, url)
		for _, c := range s.sidecars {
			require.NoError(t, c.rules.Set([]api.Rule{{
				Name: "r", Algorithm: "token_bucket", Limits: bands, MaxConcurrent: maxConcurrent,
			}}, 1))
		}
		test(t, s)
	})
}

// seat asks for cost 1 of the rule.
func seat(ctx context.Context, s *sidecar, c coord.Caller, wait time.Duration) (api.RatelimitResult, error) {
	return s.limiter.Acquire(ctx, c, waits(byRule("r", "k"), 1, wait))
}

func seated(t *testing.T, s *sidecar, c coord.Caller, wait time.Duration) api.RatelimitResult {
	t.Helper()
	d, err := seat(t.Context(), s, c, wait)
	require.NoError(t, err)
	return d
}

// used is what counts against the rule.
func used(t *testing.T, s *sidecar) int64 {
	t.Helper()
	d, err := s.limiter.Peek(t.Context(), coord.Caller{}, asks(byRule("r", "k"), 0))
	require.NoError(t, err)
	return d.Current
}

func TestAsManyGrantsAreHeldAsTheRuleSays(t *testing.T) {
	seatsOf(t, 2, []api.Band{band(10, time.Hour)}, func(t *testing.T, s *system) {
		a, b := s.sidecars[0], s.sidecars[1]
		one, two := openSession(t, a), openSession(t, b)
		first := seated(t, a, one.caller(), 0)
		require.True(t, first.Allowed)
		require.True(t, first.Held)
		require.True(t, seated(t, b, two.caller(), 0).Allowed)
		refused := seated(t, b, two.caller(), 0)
		require.False(t, refused.Allowed)
		require.Equal(t, ratelimit.ReasonConcurrency, refused.DeniedBy)
		require.Positive(t, millis(refused.RetryAfterMS))
		require.EqualValues(t, 2, used(t, a), "a refusal takes nothing")
		looked, err := b.limiter.Peek(t.Context(), coord.Caller{}, asks(byRule("r", "k"), 1))
		require.NoError(t, err)
		require.Equal(t, ratelimit.ReasonConcurrency, looked.DeniedBy)

		// In another sidecar, and once only.
		for _, want := range []bool{true, false} {
			done, err := b.limiter.Done(t.Context(), two.caller(), ended(first.Grant))
			require.NoError(t, err)
			require.Equal(t, want, done.Done)
		}
		require.True(t, seated(t, a, one.caller(), 0).Allowed)
		require.False(t, seated(t, a, one.caller(), 0).Allowed)

		// The end of a connection frees what it holds.
		two.Close(t.Context())
		require.True(t, seated(t, a, one.caller(), 0).Allowed)
		require.EqualValues(t, 4, used(t, a), "what a grant took stays taken")

		_, err = a.limiter.Done(t.Context(), one.caller(), ended("nonsense"))
		require.ErrorContains(t, err, "grant: ")
	})
}

func TestOthersAreSeatedInTheirTurn(t *testing.T) {
	seatsOf(t, 1, []api.Band{band(10, time.Hour)}, func(t *testing.T, s *system) {
		a, b := s.sidecars[0], s.sidecars[1]
		who := openSession(t, a)
		held := seated(t, a, who.caller(), 0)
		type end struct {
			d   api.RatelimitResult
			err error
		}
		enter := func(c *sidecar, n int) (chan end, context.CancelFunc) {
			ended := make(chan end, 1)
			ctx, cancel := context.WithCancel(t.Context())
			t.Cleanup(cancel)
			caller := openSession(t, c).caller()
			go func() {
				d, err := seat(ctx, c, caller, time.Minute)
				ended <- end{d, err}
			}()
			require.Eventually(t, func() bool { return c.lines.Waiting() == n }, 30*time.Second, time.Millisecond)
			return ended, cancel
		}
		first, leave := enter(b, 1)
		second, _ := enter(a, 1)
		third, _ := enter(b, 2)
		require.EqualValues(t, 1, used(t, a), "standing in line takes nothing")
		require.False(t, seated(t, b, who.caller(), 0).Allowed)

		leave()
		require.Error(t, (<-first).err)
		for _, next := range []chan end{second, third} {
			_, err := a.limiter.Done(t.Context(), who.caller(), ended(held.Grant))
			require.NoError(t, err)
			e := <-next
			require.NoError(t, e.err)
			require.True(t, e.d.Allowed)
			held = e.d
		}
		require.EqualValues(t, 3, used(t, a))
	})
}

func TestAPlaceAndASlotAreLeftTogether(t *testing.T) {
	seatsOf(t, 2, []api.Band{band(1, 2*time.Second)}, func(t *testing.T, s *system) {
		a, b := s.sidecars[0], s.sidecars[1]
		who := openSession(t, a)
		require.True(t, seated(t, a, who.caller(), 0).Allowed)
		ctx, cancel := context.WithCancel(t.Context())
		waiter := openSession(t, b)
		ended := make(chan error, 1)
		go func() {
			_, err := seat(ctx, b, waiter.caller(), 10*time.Second)
			ended <- err
		}()
		require.Eventually(t, func() bool { return used(t, a) == 2 }, 30*time.Second, time.Millisecond)
		require.Equal(t, ratelimit.ReasonConcurrency, seated(t, a, who.caller(), 0).DeniedBy, "it has its place while it waits")
		cancel()
		require.Error(t, <-ended)
		require.EqualValues(t, 1, used(t, a))
		require.Equal(t, ratelimit.ReasonLimit, seated(t, a, who.caller(), 0).DeniedBy)
		require.False(t, waiter.Holding())
	})
}

func TestAReplayIsAnsweredByWhatBecameOfItsPlace(t *testing.T) {
	seatsOf(t, 1, []api.Band{band(10, time.Hour)}, func(t *testing.T, s *system) {
		a, b := s.sidecars[0], s.sidecars[1]
		one, two := openSession(t, a), openSession(t, b)
		asks := func(s session) coord.Caller {
			return coord.Caller{Session: s.Session, RequestID: "id", Fingerprint: "f"}
		}
		first := seated(t, a, asks(one), 0)
		again := seated(t, b, asks(two), 0)
		require.True(t, again.Allowed)
		require.True(t, again.Replayed)
		require.True(t, again.Held)
		require.Equal(t, first.Grant, again.Grant)
		require.EqualValues(t, 1, used(t, a))

		// It is the second session's now: the end of the first frees nothing.
		one.Close(t.Context())
		require.Equal(t, ratelimit.ReasonConcurrency, seated(t, b, two.caller(), 0).DeniedBy)
		two.Close(t.Context())
		gone := seated(t, a, asks(openSession(t, a)), 0)
		require.False(t, gone.Allowed)
		require.True(t, gone.Replayed)
		require.Empty(t, gone.Grant)
		require.False(t, gone.Held)
		require.EqualValues(t, 1, used(t, a), "nothing is taken again")
	})
}

func TestALostPlaceIsTold(t *testing.T) {
	t.Parallel()
	s := newSystem(t, redis.Embedded)
	a := s.sidecars[0]
	require.NoError(t, a.rules.Set([]api.Rule{{
		Name: "r", Algorithm: "token_bucket", Limits: []api.Band{band(10, time.Hour)}, MaxConcurrent: 1,
	}}, 1))
	who := openSession(t, a)
	d := seated(t, a, who.caller(), 0)
	require.True(t, d.Allowed)
	s.Advance(time.Hour)
	a.leases.Hasten()
	lost := who.loss(t)
	require.Equal(t, coord.Loss{Noun: "ratelimit", Name: "r:k", Token: d.Grant, Reason: lease.ReasonExpired}, lost)
}

func TestNoPlacesAreGivenOutWhileDraining(t *testing.T) {
	seatsOf(t, 1, []api.Band{band(10, time.Hour)}, func(t *testing.T, s *system) {
		a := s.sidecars[0]
		who := openSession(t, a)
		a.leases.Drain()
		_, err := seat(t.Context(), a, who.caller(), 0)
		var e *coord.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, api.Draining, e.Code)
	})
}

// Its reply comes, since it could have been promised a slot; but nobody hears it.
func TestACallThatIsCancelledUnderWayLeavesItsPlace(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	clock := conformance.NewClock()
	var late atomic.Bool
	r := openRunner(t, lua.Options{URL: redis.Embedded, Clock: func() int64 {
		if late.Swap(false) {
			cancel() // as the script is sent
		}
		return clock.Micros()
	}})
	s := newSidecarBy(t, r, "p", clock)
	require.NoError(t, s.rules.Set([]api.Rule{{
		Name: "r", Algorithm: "fixed_window", Limits: []api.Band{band(10, time.Hour)}, MaxConcurrent: 1,
	}}, 1))
	who := openSession(t, s)
	// What seals grants is read once, by a script of its own.
	_, err := s.limiter.Peek(ctx, coord.Caller{}, asks(byRule("r", "k"), 1))
	require.NoError(t, err)
	late.Store(true)
	_, err = seat(ctx, s, who.caller(), time.Minute)
	var e *coord.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, api.Cancelled, e.Code)
	require.False(t, who.Holding())
	require.EqualValues(t, 1, used(t, s), "what it took stays taken")
	require.True(t, seated(t, s, who.caller(), 0).Allowed)
}

func TestWhoStandsInLineIsToldOfTheDrain(t *testing.T) {
	seatsOf(t, 1, []api.Band{band(10, time.Hour)}, func(t *testing.T, s *system) {
		a := s.sidecars[0]
		holder, waiter := openSession(t, a), openSession(t, a)
		require.True(t, seated(t, a, holder.caller(), 0).Allowed)
		ended := make(chan error, 1)
		go func() {
			_, err := seat(t.Context(), a, waiter.caller(), time.Minute)
			ended <- err
		}()
		require.Eventually(t, func() bool { return a.lines.Waiting() == 1 }, 30*time.Second, time.Millisecond)
		a.leases.Drain()
		var e *coord.Error
		require.ErrorAs(t, <-ended, &e)
		require.Equal(t, api.Draining, e.Code)
	})
}

func TestARepetitionOfAnyIsAnsweredByWhatBecameOfItsPlace(t *testing.T) {
	seatsOf(t, 1, []api.Band{band(10, time.Hour)}, func(t *testing.T, s *system) {
		a, b := s.sidecars[0], s.sidecars[1]
		ask := func(s *sidecar, c session) (string, api.RatelimitResult) {
			r, err := s.limiter.AcquireAny(t.Context(), coord.Caller{Session: c.Session, RequestID: "id", Fingerprint: "f"}, &api.RatelimitAnyParams{
				Rule: "r", Keys: []string{"k", "other"}, Cost: 1,
			})
			require.NoError(t, err)
			return r.Key, r.Result
		}
		one, two := openSession(t, a), openSession(t, b)
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
		require.True(t, seated(t, a, openSession(t, a).caller(), 0).Allowed)
		_, gone := ask(b, openSession(t, b))
		require.False(t, gone.Allowed, "someone else has the place")
		require.True(t, gone.Replayed)
	})
}

func TestARepetitionOutlivesAReload(t *testing.T) {
	t.Parallel()
	s := newSystem(t, redistest.URL(t)).sidecars[0]
	who := openSession(t, s)
	asks := coord.Caller{Session: who.Session, RequestID: "id", Fingerprint: "f"}
	for i, rule := range []api.Rule{
		{Name: "r", Algorithm: "token_bucket", Limits: []api.Band{band(10, time.Hour)}},
		{Name: "r", Algorithm: "token_bucket", Limits: []api.Band{band(10, time.Hour), band(20, 24*time.Hour)}},
		{Name: "r", Algorithm: "token_bucket", Limits: []api.Band{band(10, time.Hour)}},
	} {
		require.NoError(t, s.rules.Set([]api.Rule{rule}, int64(i+1)))
		d := seated(t, s, asks, 0)
		require.True(t, d.Allowed)
		require.Equal(t, i > 0, d.Replayed)
	}
}
