package conformance

import (
	"cmp"
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// limiter is one test's view of a limit under a key of its own.
type limiter struct {
	t      *testing.T
	sys    System
	client Client
	key    string
	// algorithm of its limits; empty = token_bucket.
	algorithm string
}

func (l limiter) params(cost int64, bands ...api.Band) api.RatelimitParams {
	return api.RatelimitParams{Algorithm: cmp.Or(l.algorithm, api.AlgorithmTokenBucket), Limits: l.bands(bands), Key: l.key, Cost: cost}
}

func (l limiter) acquire(cost int64, bands ...api.Band) api.RatelimitResult {
	l.t.Helper()
	r, err := do(patient(l.t), l.client, "", api.RatelimitAcquire, l.params(cost, bands...))
	require.NoError(l.t, err)
	return r
}

func (l limiter) peek(cost int64, bands ...api.Band) api.RatelimitResult {
	l.t.Helper()
	r, err := do(patient(l.t), l.client, "", api.RatelimitPeek, l.params(cost, bands...))
	require.NoError(l.t, err)
	return r
}

func per(limit int64, period time.Duration) api.Band {
	return api.Band{Limit: limit, PeriodMS: period.Milliseconds()}
}

// Limits tests what ratelimit.acquire, peek and reset promise of token buckets, with exact numbers; Algorithms tests
// what is common to all algorithms.
func Limits(t *testing.T, sys System) {
	for name, test := range map[string]func(limiter){
		"an answer describes its band":                    answerDescribesItsBand,
		"no fraction of a refill is lost":                 noFractionIsLost,
		"a refusal takes nothing":                         refusalTakesNothing,
		"peek takes nothing":                              peekTakesNothing,
		"high rates admit exactly their capacity":         highRates,
		"mistakes name their field":                       limitMistakes,
		"a bucket refills no faster after a long silence": longSilence,
		"a call waits for its slot, in its order":         waitsForItsSlot,
		"a slot that is too far is refused at once":       tooFarIsRefused,
		"a repeated call takes the waiting over":          repetitionTakesOver,
		"a refusal may be answered locally":               refusedLocally,
	} {
		t.Run(name, func(t *testing.T) {
			test(limiter{t: t, sys: sys, client: sys.Connect(t, 0, "limits"), key: t.Name(), algorithm: api.AlgorithmTokenBucket})
		})
	}
}

func answerDescribesItsBand(l limiter) {
	band := per(3, 5*time.Second)
	r := l.acquire(1, band)
	require.Equal(l.t, api.RatelimitResult{
		Allowed: true, Algorithm: "token_bucket", Band: "3/5s", Limit: 3, Remaining: 2, Current: 1,
		ResetAfterMS: 1667, ResetAtMS: r.ResetAtMS, Source: "redis", Grant: r.Grant,
	}, r)
	require.Positive(l.t, r.ResetAtMS)
	l.acquire(2, band)
	refused := l.acquire(1, band)
	require.Equal(l.t, api.RatelimitResult{
		Algorithm: "token_bucket", Band: "3/5s", Limit: 3, Current: 3,
		ResetAfterMS: 5000, ResetAtMS: refused.ResetAtMS, RetryAfterMS: 1667, DeniedBy: "limit", Source: "redis",
	}, refused)
	require.InDelta(l.t, 5000-1667, refused.ResetAtMS-r.ResetAtMS, 1)
}

func noFractionIsLost(l limiter) {
	admitted := int64(0)
	for range 60 {
		if l.acquire(1, per(10, 6*time.Second)).Allowed {
			admitted++
		}
		l.sys.Advance(500 * time.Millisecond)
	}
	require.InDelta(l.t, 60, admitted, 1, "10 per 6 s, one call every 500 ms for 30 s")

	l.key += "0.3 of a token each time"
	admitted = 0
	for range 1000 {
		if l.acquire(1, api.Band{Limit: 10, PeriodMS: 1000, Burst: 5}).Allowed {
			admitted++
		}
		l.sys.Advance(30 * time.Millisecond)
	}
	require.InDelta(l.t, 5+300, admitted, 1, "capacity + rate x time")
}

func refusalTakesNothing(l limiter) {
	band := per(10, time.Hour)
	l.acquire(8, band)
	for range 3 {
		r := l.acquire(5, band)
		require.False(l.t, r.Allowed)
		require.Equal(l.t, int64(2), r.Remaining)
	}
	require.Equal(l.t, int64(2), l.peek(1, band).Remaining)
	full := l.acquire(10, band)
	require.False(l.t, full.Allowed)
	require.Equal(l.t, int64(8*360_000), full.RetryAfterMS, "all of a used bucket: a finite wait")
	never := l.acquire(11, band)
	require.False(l.t, never.Allowed)
	require.Equal(l.t, int64(-1), never.RetryAfterMS, "more than the bucket holds")
	require.True(l.t, l.acquire(2, band).Allowed)
}

func peekTakesNothing(l limiter) {
	band := per(5, time.Hour)
	for range 3 {
		r := l.peek(5, band)
		require.True(l.t, r.Allowed)
		require.Equal(l.t, int64(5), r.Remaining)
	}
	l.acquire(3, band)
	r := l.peek(3, band)
	require.False(l.t, r.Allowed, "it answers what acquire would")
	require.Equal(l.t, "limit", r.DeniedBy)
	require.Equal(l.t, int64(720_000), r.RetryAfterMS)
	require.True(l.t, l.peek(2, band).Allowed)
}

// maxDrain bounds how long a random limit takes to be as if unused, so that a
// thousand of them do not pass the end of the clock.
const maxDrain = 10 * 24 * time.Hour

// randomBands draws limits of every order of magnitude, each with its own
// period, and returns the least capacity too.
func randomBands(rng *rand.Rand) ([]api.Band, int64) {
	bands := make([]api.Band, 1+rng.IntN(api.MaxBands))
	least := int64(1e9)
	for i := range bands {
		b := api.Band{Limit: magnitude(rng, 1e9), PeriodMS: magnitude(rng, maxDrain.Milliseconds()/8)*8 + int64(i)}
		// Burst * PeriodMS / Limit stays below maxDrain.
		most := float64(b.Limit) * float64(maxDrain.Milliseconds()) / float64(b.PeriodMS)
		b.Burst = magnitude(rng, int64(max(1, min(1e9, most))))
		bands[i] = b
		least = min(least, b.Burst)
	}
	return bands, least
}

// magnitude draws from 1 to most, each order of magnitude as likely as any.
func magnitude(rng *rand.Rand, most int64) int64 {
	n := most
	for range rng.IntN(10) {
		n /= 10
	}
	return 1 + rng.Int64N(max(1, n))
}

func highRates(l limiter) {
	for _, rate := range []int64{10_000, 100_000, 1_000_000} {
		l.key += "+"
		require.True(l.t, l.acquire(rate, per(rate, time.Second)).Allowed)
		require.False(l.t, l.acquire(1, per(rate, time.Second)).Allowed)
		l.sys.Advance(time.Second)
		require.True(l.t, l.acquire(rate, per(rate, time.Second)).Allowed)
	}
	l.key += "burst"
	require.Equal(l.t, int64(600), l.burst(610, []Client{l.client}, per(600, time.Second)))
}

// burst calls from 32 callers and counts the admitted.
func (l limiter) burst(calls int64, clients []Client, bands ...api.Band) int64 {
	l.t.Helper()
	var admitted, begun atomic.Int64
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			for begun.Add(1) <= calls {
				r, err := do(patient(l.t), clients[i%len(clients)], "", api.RatelimitAcquire, l.params(1, bands...))
				if err != nil {
					l.t.Error(err)
					return
				}
				if r.Allowed {
					admitted.Add(1)
				}
			}
		})
	}
	wg.Wait()
	return admitted.Load()
}

func bandsAllOrNone(l limiter) {
	bands := []api.Band{per(12, time.Minute), per(10, time.Second)}
	r := l.acquire(10, bands...)
	require.True(l.t, r.Allowed)
	require.Equal(l.t, "10/1s", r.Band, "the band with the least remaining")
	require.Equal(l.t, "10/1s", l.acquire(1, bands...).Band, "the band that refused")
	l.sys.Advance(2 * time.Second)
	for range 10 {
		r = l.acquire(3, bands...)
		require.False(l.t, r.Allowed)
		require.Equal(l.t, "12/1m", r.Band, "the band that refused")
		require.Equal(l.t, int64(2), r.Remaining)
	}
	r = l.acquire(2, bands...)
	require.True(l.t, r.Allowed, "the second's band was never charged by what the minute's refused")
}

func twoSidecars(l limiter) {
	clients := []Client{l.client, l.sys.Connect(l.t, 1, "limits")}
	require.Equal(l.t, int64(50), l.burst(200, clients, per(50, time.Hour)))
}

func resetForgets(l limiter) {
	band := per(2, time.Hour)
	p := api.RatelimitResetParams{Algorithm: l.algorithm, Limits: l.bands([]api.Band{band}), Key: l.key}
	r, err := do(patient(l.t), l.client, "", api.RatelimitReset, p)
	require.NoError(l.t, err)
	require.False(l.t, r.Reset, "there was nothing")
	l.acquire(2, band)
	r, err = do(patient(l.t), l.client, "", api.RatelimitReset, p)
	require.NoError(l.t, err)
	require.True(l.t, r.Reset)
	require.Equal(l.t, int64(1), l.acquire(1, band).Remaining)
}

func requestIDCountsOnce(l limiter) {
	other := l.sys.Connect(l.t, 1, "limits")
	p := l.params(2, per(10, time.Hour))
	first, err := do(patient(l.t), l.client, "id", api.RatelimitAcquire, p)
	require.NoError(l.t, err)
	require.False(l.t, first.Replayed)
	for _, c := range []Client{l.client, other} {
		again, err := do(patient(l.t), c, "id", api.RatelimitAcquire, p)
		require.NoError(l.t, err)
		require.True(l.t, again.Replayed)
		again.Replayed = false
		require.Equal(l.t, first, again)
	}
	require.Equal(l.t, int64(8), l.peek(1, p.Limits...).Remaining, "counted once")

	_, err = do(patient(l.t), other, "id", api.RatelimitAcquire, l.params(3, per(10, time.Hour)))
	require.ErrorIs(l.t, err, api.Conflict, "another call with that id")
	require.Equal(l.t, int64(8), l.peek(1, p.Limits...).Remaining)

	// A refusal is not kept: the same id may succeed later.
	late := l.params(9, per(10, time.Hour))
	refused, err := do(patient(l.t), l.client, "late", api.RatelimitAcquire, late)
	require.NoError(l.t, err)
	require.False(l.t, refused.Allowed)
	l.sys.Advance(time.Duration(refused.RetryAfterMS) * time.Millisecond)
	granted, err := do(patient(l.t), l.client, "late", api.RatelimitAcquire, late)
	require.NoError(l.t, err)
	require.True(l.t, granted.Allowed)
	require.False(l.t, granted.Replayed)
}

func keysAreApart(l limiter) {
	for _, key := range names() {
		p := l.params(1, per(1, time.Hour))
		p.Key = key
		id := l.algorithm + key
		r, err := do(patient(l.t), l.client, id[:min(len(id), 64)], api.RatelimitAcquire, p)
		require.NoError(l.t, err, "%q", key)
		require.True(l.t, r.Allowed, "%q", key)
	}
}

func limitMistakes(l limiter) {
	ok := per(1, time.Second)
	for want, c := range map[string]struct {
		p    api.RatelimitParams
		code api.Code
	}{
		"rule":                {api.RatelimitParams{Key: "k"}, api.InvalidArgument},
		"rule: ":              {api.RatelimitParams{Key: "k", Rule: "r", Limits: []api.Band{ok}}, api.InvalidArgument},
		"key":                 {api.RatelimitParams{Algorithm: "token_bucket", Limits: []api.Band{ok}}, api.InvalidArgument},
		`no rule "none"`:      {api.RatelimitParams{Key: "k", Rule: "none"}, api.NotFound},
		"algorithm":           {api.RatelimitParams{Key: "k", Algorithm: "leaky", Limits: []api.Band{ok}}, api.InvalidArgument},
		"limits":              {api.RatelimitParams{Key: "k", Algorithm: "token_bucket"}, api.InvalidArgument},
		"limits[1].period_ms": {l.params(1, ok, ok), api.InvalidArgument},
		"limits[0].period_ms": {l.params(1, api.Band{Limit: 1, PeriodMS: 31_622_400_001}), api.InvalidArgument},
		"limits[0].burst":     {l.params(1, api.Band{Limit: 1, PeriodMS: 1, Burst: -1}), api.InvalidArgument},
		"cost":                {l.params(-1, ok), api.InvalidArgument},
	} {
		_, err := do(context.Background(), l.client, "", api.RatelimitAcquire, c.p)
		require.ErrorIs(l.t, err, c.code, "%+v", c.p)
		require.ErrorContains(l.t, err, want)
	}
}

func zeroRefuses(l limiter) {
	for _, band := range []api.Band{per(0, time.Second), {Limit: 0, PeriodMS: 2000, Burst: 5}} {
		r := l.acquire(1, band)
		require.False(l.t, r.Allowed)
		require.Equal(l.t, int64(-1), r.RetryAfterMS)
		require.Equal(l.t, "limit", r.DeniedBy)
	}
}

func longSilence(l limiter) {
	band := per(168, 7*24*time.Hour)
	l.acquire(168, band)
	l.sys.Advance(25 * time.Hour)
	require.Equal(l.t, int64(25), l.peek(1, band).Remaining, "25 of 168 hours")
	l.sys.Advance(365 * 24 * time.Hour)
	require.Equal(l.t, int64(168), l.peek(1, band).Remaining)
}
