package client_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/client/clienttest"
)

// faked is a fake sidecar whose clock stands still, until the test ends.
func faked(t *testing.T) *clienttest.Sidecar {
	t.Helper()
	s := clienttest.NewSidecar()
	t.Cleanup(s.Close)
	s.Freeze(time.Time{})
	return s
}

func TestAllowTakesOrReturnsFalse(t *testing.T) {
	t.Parallel()
	s := faked(t)
	s.PutRule(api.Rule{Name: "crawl", Limits: []api.Band{api.Per(2, time.Minute)}})
	for _, want := range []bool{true, true, false} {
		got, err := s.Client().Allow(t.Context(), "crawl", "k")
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := s.Client().Allow(t.Context(), "none", "k")
	require.ErrorIs(t, err, api.NotFound)
}

func TestWaitReturnsWhenTheRuleAdmits(t *testing.T) {
	t.Parallel()
	for _, algorithm := range api.Algorithms {
		t.Run(algorithm, func(t *testing.T) {
			t.Parallel()
			s := clienttest.NewSidecar()
			t.Cleanup(s.Close)
			s.PutRule(api.Rule{Name: "crawl", Algorithm: algorithm, Limits: []api.Band{api.Per(2, 100*time.Millisecond)}})
			began := s.Now()
			for range 5 {
				require.NoError(t, s.Client().Wait(t.Context(), "crawl", "k"))
			}
			// 2 at once, or in the window that is about to end, and 2 in each one after it.
			require.GreaterOrEqual(t, s.Now().Sub(began), 100*time.Millisecond)
		})
	}
}

// A slot that is further away than a call may wait is slept for.
func TestWaitOutlastsTheLongestCall(t *testing.T) {
	t.Parallel()
	s := faked(t)
	s.PutRule(api.Rule{Name: "crawl", Limits: []api.Band{api.Per(1, time.Minute)}})
	var asked atomic.Int32
	clienttest.On(s, api.RatelimitAcquire, func(p api.RatelimitParams) (api.RatelimitResult, error) {
		switch asked.Add(1) {
		case 1: // a pause of more than a minute, but for what is a moment here
			require.Zero(t, p.WaitMS)
			return api.RatelimitResult{Algorithm: api.AlgorithmTokenBucket, DeniedBy: "pause", RetryAfterMS: 1}, nil
		case 2:
			require.Equal(t, int64(60_000), p.WaitMS, "it stands in line")
			return api.RatelimitResult{Algorithm: api.AlgorithmTokenBucket, DeniedBy: "limit", RetryAfterMS: 2}, nil
		case 3:
			require.Zero(t, p.WaitMS, "it slept, and asks anew")
			return api.RatelimitResult{Algorithm: api.AlgorithmSlidingWindowCounter, DeniedBy: "limit", RetryAfterMS: 2}, nil
		default:
			require.Zero(t, p.WaitMS, "this algorithm promises no slot")
			return api.RatelimitResult{Allowed: true}, nil
		}
	})
	require.NoError(t, s.Client().Wait(t.Context(), "crawl", "k"))
	require.Equal(t, int32(4), asked.Load())
}

func TestWaitRefusesImpossibleRequestsAtOnce(t *testing.T) {
	t.Parallel()
	s := faked(t)
	s.PutRule(api.Rule{Name: "crawl", Limits: []api.Band{api.Per(1, time.Hour)}, Deny: []api.Match{{Exact: "never"}}})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	defer cancel()
	require.NoError(t, s.Client().Wait(ctx, "crawl", "k"))
	err := s.Client().Wait(ctx, "crawl", "k")
	var limited *client.LimitError
	require.ErrorAs(t, err, &limited)
	require.ErrorIs(t, err, client.ErrLimited)
	require.Equal(t, "k", limited.Key)
	require.EqualError(t, err, `rule "crawl" refuses "k" (limit): retry after 1h0m0s`)
	require.EqualError(t, s.Client().Wait(t.Context(), "crawl", "never"), `rule "crawl" never admits "never" (deny_list)`)

	ended, end := context.WithCancel(t.Context())
	waits := make(chan error, 1)
	go func() { waits <- s.Client().Wait(ended, "crawl", "k") }()
	require.Eventually(t, func() bool { return len(s.Calls()) == 4 }, time.Minute, time.Millisecond)
	end()
	require.ErrorIs(t, <-waits, context.Canceled)
}

// Nobody would give the permit of such a grant back.
func TestAllowKeepsNoPermit(t *testing.T) {
	t.Parallel()
	s := faked(t)
	s.PutRule(api.Rule{Name: "few", Limits: []api.Band{api.Per(10, time.Hour)}, MaxConcurrent: 1})
	for range 3 {
		_, err := s.Client().Allow(t.Context(), "few", "k")
		require.ErrorContains(t, err, "max_concurrent")
		require.ErrorContains(t, s.Client().Wait(t.Context(), "few", "k"), "use RatelimitAcquire and RatelimitDone")
	}
	p := api.RatelimitParams{Rule: "few", Key: "k"}
	r, err := s.Client().RatelimitAcquire(t.Context(), p)
	require.NoError(t, err)
	require.True(t, r.Held, "no permit was kept")
	require.Equal(t, int64(9), r.Remaining, "nothing was taken")
	_, err = s.Client().Allow(t.Context(), "few", "k")
	require.ErrorContains(t, err, "max_concurrent", "also while all are held")
}

// The id of WithRequestID is of one call: no other call of Wait, Allow, PoolDo and BreakerDo has it.
func TestARequestIDIsOfOneCall(t *testing.T) {
	t.Parallel()
	s := clienttest.NewSidecar()
	t.Cleanup(s.Close)
	c := s.Client()
	with := func(id string) context.Context { return client.WithRequestID(t.Context(), id) }
	for _, algorithm := range api.Algorithms {
		s.PutRule(api.Rule{Name: algorithm, Algorithm: algorithm, Limits: []api.Band{api.Per(1, 50*time.Millisecond)}})
		require.NoError(t, c.Wait(t.Context(), algorithm, "k"))
		require.NoError(t, c.Wait(with(algorithm), algorithm, "k"), algorithm)
	}
	s.PutRule(api.Rule{Name: "bound", MaxConcurrent: 1, Limits: []api.Band{api.Per(5, time.Hour)}})
	_, err := c.Allow(with("allow"), "bound", "k")
	require.ErrorContains(t, err, "max_concurrent")
	r, err := c.RatelimitAcquire(t.Context(), api.RatelimitParams{Rule: "bound", Key: "k"})
	require.NoError(t, err)
	require.True(t, r.Allowed, "the permit was given back: %s", r.DeniedBy)
	_, err = c.PoolPut(t.Context(), api.PoolPutParams{Pool: "p", Members: []api.PoolMember{{ID: "a"}}})
	require.NoError(t, err)
	require.NoError(t, c.PoolDo(with("pool"), "p", client.PoolOptions{}, func(context.Context, *client.Member) error { return nil }))
	_, err = c.PoolAcquire(t.Context(), "p", client.PoolOptions{})
	require.NoError(t, err, "the member was given back")
	s.PutPolicy(api.BreakerPolicy{Name: "b", FailureThreshold: 1, OpenMS: 60_000})
	failed := errors.New("failed")
	require.ErrorIs(t, c.BreakerDo(with("breaker"), "b", client.BreakerOptions{}, func(context.Context) error { return failed }), failed)
	require.ErrorIs(t, c.BreakerDo(t.Context(), "b", client.BreakerOptions{}, func(context.Context) error { return nil }), client.ErrOpen)
}
