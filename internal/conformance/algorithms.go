package conformance

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// everyAlgorithm lists the algorithms of the contract.
var everyAlgorithm = api.Algorithms

// reserving are the algorithms that can promise a slot.
var reserving = api.WaitingAlgorithms

// as returns a limiter whose limits have this algorithm, and each hold their whole limit at once.
func (l limiter) as(algorithm string) limiter {
	l.algorithm, l.key = algorithm, l.key+" "+algorithm
	return l
}

// bands adapts bands to the algorithm: a leaky bucket has its limit as the burst, and a window has no burst.
func (l limiter) bands(bands []api.Band) []api.Band {
	bands = slices.Clone(bands)
	for i, b := range bands {
		switch {
		case l.algorithm == api.AlgorithmLeakyBucket && b.Burst == 0:
			bands[i].Burst = b.Limit
		case l.algorithm != api.AlgorithmLeakyBucket && l.algorithm != api.AlgorithmTokenBucket:
			bands[i].Burst = 0
		}
	}
	return bands
}

// Algorithms tests what every algorithm promises, on each.
func Algorithms(t *testing.T, sys System) {
	common := map[string]func(limiter){
		"an answer describes its band":            bandIsDescribed,
		"a refusal takes nothing":                 nothingIsTaken,
		"peek takes nothing":                      lookTakesNothing,
		"retry_after_ms is exact":                 retryIsExact,
		"limits in full that differ are apart":    inFullApart,
		"a limit in full is known by what it is":  inFullSame,
		"bands are charged all or none":           bandsAllOrNone,
		"callers of two sidecars share one limit": twoSidecars,
		"reset forgets":                           resetForgets,
		"a request id counts once":                requestIDCountsOnce,
		"keys are apart, whatever their bytes":    keysAreApart,
		"a limit of zero refuses for ever":        zeroRefuses,
		"a group counts in place of its keys":     groupCounts,
		"a grant is refunded once":                refundedOnce,
		"what counts no more is not refunded":     expiredRefund,
		"an edited grant refunds nothing":         editedGrant,
	}
	waits := map[string]func(limiter){
		"calls wait for their slots, in their order": slotsInOrder,
		"a slot that is too far is refused at once":  tooFar,
		"who leaves gives its slot back":             leavingGivesBack,
		"a repeated call takes the waiting over":     waitingIsTakenOver,
	}
	for _, algorithm := range everyAlgorithm {
		t.Run(algorithm, func(t *testing.T) {
			run := func(name string, test func(limiter)) {
				t.Run(name, func(t *testing.T) {
					test(limiter{t: t, sys: sys, client: sys.Connect(t, 0, "limits"), key: t.Name()}.as(algorithm))
				})
			}
			for name, test := range common {
				run(name, test)
			}
			if !slices.Contains(reserving, algorithm) {
				run("wait_ms is a mistake", waitIsAMistake)
				return
			}
			for name, test := range waits {
				run(name, test)
			}
		})
	}
}

func bandIsDescribed(l limiter) {
	band := per(3, 5*time.Second)
	r := l.acquire(1, band)
	require.Equal(l.t, api.RatelimitResult{
		Allowed: true, Algorithm: l.algorithm, Band: "3/5s", Limit: 3, Remaining: 2, Current: 1,
		ResetAfterMS: r.ResetAfterMS, ResetAtMS: r.ResetAtMS, Source: "redis", Grant: r.Grant,
	}, r)
	require.Positive(l.t, r.ResetAfterMS)
	require.Equal(l.t, l.sys.Now().UnixMilli()+r.ResetAfterMS, r.ResetAtMS)
	require.NotEmpty(l.t, r.Grant)
	l.acquire(2, band)
	refused := l.acquire(1, band)
	require.Equal(l.t, api.RatelimitResult{
		Algorithm: l.algorithm, Band: "3/5s", Limit: 3, Current: 3,
		ResetAfterMS: refused.ResetAfterMS, ResetAtMS: refused.ResetAtMS, RetryAfterMS: refused.RetryAfterMS,
		DeniedBy: "limit", Source: "redis",
	}, refused)
	require.Positive(l.t, refused.RetryAfterMS)
	require.GreaterOrEqual(l.t, refused.ResetAfterMS, refused.RetryAfterMS)
	l.sys.Advance(time.Duration(refused.ResetAfterMS) * time.Millisecond)
	r = l.peek(1, band)
	require.Zero(l.t, r.Current)
	require.Equal(l.t, int64(3), r.Remaining)
}

func nothingIsTaken(l limiter) {
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
	require.Positive(l.t, full.RetryAfterMS, "all of it: a finite wait")
	never := l.acquire(11, band)
	require.False(l.t, never.Allowed)
	require.Equal(l.t, int64(-1), never.RetryAfterMS, "more than it ever holds")
	require.True(l.t, l.acquire(2, band).Allowed)
}

func lookTakesNothing(l limiter) {
	band := per(5, time.Hour)
	for range 3 {
		r := l.peek(5, band)
		require.True(l.t, r.Allowed)
		require.Empty(l.t, r.Grant)
		require.Equal(l.t, int64(5), r.Remaining)
	}
	l.acquire(3, band)
	r := l.peek(3, band)
	require.False(l.t, r.Allowed, "it answers what acquire would")
	require.Equal(l.t, "limit", r.DeniedBy)
	require.Positive(l.t, r.RetryAfterMS)
	require.True(l.t, l.peek(2, band).Allowed)
}

func retryIsExact(l limiter) {
	key, rng := l.key, rand.New(rand.NewPCG(1, 2))
	refused := 0
	for i := range 250 { // in each store, on coord and through the socket
		l.key = fmt.Sprint(key, i)
		bands, least := randomBands(rng)
		for k := range bands {
			if l.algorithm == api.AlgorithmSlidingWindowLog {
				bands[k].Limit = min(bands[k].Limit, api.MaxLogLimit)
			}
			if l.algorithm != api.AlgorithmLeakyBucket {
				least = min(least, bands[k].Limit)
			}
		}
		used, cost := min(magnitude(rng, least), least), min(magnitude(rng, least), least)
		require.True(l.t, l.acquire(used, bands...).Allowed, "%v", bands)
		r := l.acquire(cost, bands...)
		if r.Allowed {
			continue
		}
		refused++
		require.Positive(l.t, r.RetryAfterMS)
		l.sys.Advance(time.Duration(r.RetryAfterMS-1) * time.Millisecond)
		require.False(l.t, l.peek(cost, bands...).Allowed, "a millisecond early: %v used %d cost %d: %+v", bands, used, cost, r)
		l.sys.Advance(time.Millisecond)
		require.True(l.t, l.acquire(cost, bands...).Allowed, "in time: %v used %d cost %d: %+v", bands, used, cost, r)
	}
	require.Greater(l.t, refused, 25)
}

func groupCounts(l limiter) {
	p := l.params(2, per(4, time.Hour))
	ask := func(c Client, key, group string) api.RatelimitResult {
		p.Key, p.Group = l.key+key, group
		r, err := do(patient(l.t), c, "", api.RatelimitAcquire, p)
		require.NoError(l.t, err)
		return r
	}
	other := l.sys.Connect(l.t, 1, "limits")
	group := l.key + "group"
	require.True(l.t, ask(l.client, "a", group).Allowed)
	require.True(l.t, ask(other, "b", group).Allowed)
	require.False(l.t, ask(l.client, "c", group).Allowed, "they count together")
	l.until("a refusal is answered from the cache", func() bool { return ask(l.client, "d", group).Source == "cache" })
	require.True(l.t, ask(l.client, "a", "").Allowed, "the key counts by itself")
	require.True(l.t, ask(l.client, "a", group+"2").Allowed)
	require.False(l.t, ask(l.client, "group", "").Allowed, "a group is the key of its name")
	r, err := do(patient(l.t), l.client, "", api.RatelimitReset, api.RatelimitResetParams{
		Algorithm: l.algorithm, Limits: p.Limits, Key: "any", Group: group,
	})
	require.NoError(l.t, err)
	require.True(l.t, r.Reset)
	require.True(l.t, ask(l.client, "c", group).Allowed)
}

func slotsInOrder(l limiter) {
	band := per(4, 2*time.Second)
	other := l
	other.client = l.sys.Connect(l.t, 1, "limits")
	l.acquire(4, band)
	calls := []*waiting{l.wait("", 1, band), other.wait("", 2, band), l.wait("", 1, band), other.wait("", 3, band)}
	require.False(l.t, l.acquire(1, band).Allowed, "who does not wait is not let in before them")
	last, waited := int64(0), int64(0)
	for _, w := range calls {
		r := w.let(0)
		require.Zero(l.t, r.RetryAfterMS)
		require.Equal(l.t, "redis", r.Source)
		require.NotEmpty(l.t, r.Grant)
		require.GreaterOrEqual(l.t, r.ResetAtMS, last, "each was promised after those before it")
		last, waited = r.ResetAtMS, r.WaitedMS
	}
	require.Greater(l.t, waited, int64(1000), "7 were promised beyond 4 in 2 s")
}

func tooFar(l limiter) {
	band := per(4, 2*time.Second)
	l.acquire(4, band)
	retry := l.peek(1, band).RetryAfterMS
	require.Positive(l.t, retry)
	p := l.params(1, band)
	if p.WaitMS = retry - 1; p.WaitMS > 0 {
		r, err := do(patient(l.t), l.client, "", api.RatelimitAcquire, p)
		require.NoError(l.t, err)
		require.False(l.t, r.Allowed)
		require.Equal(l.t, retry, r.RetryAfterMS)
		require.Zero(l.t, r.WaitedMS)
		require.Empty(l.t, r.Grant)
	}
	require.Equal(l.t, int64(4), l.peek(1, band).Current, "nothing was charged")
	l.wait("", 1, band).let(0)
}

func waitingIsTakenOver(l limiter) {
	band := per(4, 2*time.Second)
	l.acquire(4, band)
	first := l.wait("repeated"+l.algorithm, 1, band)
	p := l.params(1, band)
	p.WaitMS = 60_000
	again := &waiting{l: l, cancel: func() {}, done: make(chan error, 1)}
	client := l.sys.Connect(l.t, 0, "limits")
	go func() {
		r, err := do(patient(l.t), client, "repeated"+l.algorithm, api.RatelimitAcquire, p)
		again.result = r
		again.done <- err
	}()
	r := again.let(0)
	require.True(l.t, r.Replayed)
	require.Equal(l.t, r.Grant, first.let(0).Grant)
}

func waitIsAMistake(l limiter) {
	p := l.params(1, per(1, time.Second))
	p.WaitMS = 1
	_, err := do(patient(l.t), l.client, "", api.RatelimitAcquire, p)
	require.ErrorIs(l.t, err, api.InvalidArgument)
	require.ErrorContains(l.t, err, "wait_ms: a sliding_window_counter cannot promise a slot")
}

// refund gives a grant back through a client.
func (l limiter) refund(c Client, grant string) api.RatelimitRefundResult {
	l.t.Helper()
	r, err := do(patient(l.t), c, "", api.RatelimitRefund, api.RatelimitGrantParams{Grant: grant})
	require.NoError(l.t, err)
	require.Equal(l.t, r.Reason == "refunded", r.Refunded)
	return r
}

func refundedOnce(l limiter) {
	for i, bands := range [][]api.Band{{per(10, time.Hour)}, {per(10, time.Hour), per(20, 2*time.Hour)}} {
		l.key += fmt.Sprint(i)
		grants := make([]string, 0, 4)
		for _, cost := range []int64{1, 2, 3, 4} {
			grants = append(grants, l.acquire(cost, bands...).Grant)
		}
		require.False(l.t, l.acquire(1, bands...).Allowed)
		other := l.sys.Connect(l.t, 1, "limits")
		require.Equal(l.t, "refunded", l.refund(l.client, grants[1]).Reason)
		require.Equal(l.t, int64(2), l.peek(1, bands...).Remaining)
		require.True(l.t, l.acquire(2, bands...).Allowed, "no refusal is remembered")
		require.Equal(l.t, "repeated", l.refund(l.client, grants[1]).Reason)
		require.Equal(l.t, "repeated", l.refund(other, grants[1]).Reason)
		require.Equal(l.t, "refunded", l.refund(other, grants[3]).Reason, "whoever took it")
		require.Equal(l.t, int64(4), l.peek(1, bands...).Remaining)
	}
	for _, text := range []string{"", "x", l.acquire(1, per(10, time.Hour)).Grant + "{"} {
		_, err := do(patient(l.t), l.client, "", api.RatelimitRefund, api.RatelimitGrantParams{Grant: text})
		require.ErrorIs(l.t, err, api.InvalidArgument)
		require.ErrorContains(l.t, err, "grant")
	}
}

func expiredRefund(l limiter) {
	band := per(10, 2*time.Second)
	grant := l.acquire(4, band).Grant
	l.sys.Advance(6 * time.Second)
	require.Equal(l.t, "expired", l.refund(l.client, grant).Reason)
	require.Equal(l.t, int64(10), l.peek(1, band).Remaining)
	l.acquire(10, band)
	require.NotEqual(l.t, "refunded", l.refund(l.client, grant).Reason)
	require.Zero(l.t, l.peek(1, band).Remaining, "and what others took since stays taken")

	l.key += "reset"
	grant = l.acquire(4, band).Grant
	_, err := do(patient(l.t), l.client, "", api.RatelimitReset, api.RatelimitResetParams{Algorithm: l.algorithm, Limits: l.bands([]api.Band{band}), Key: l.key})
	require.NoError(l.t, err)
	l.sys.Advance(time.Millisecond)
	l.acquire(10, band)
	require.Equal(l.t, "expired", l.refund(l.client, grant).Reason)
	require.Zero(l.t, l.peek(1, band).Remaining)
}
