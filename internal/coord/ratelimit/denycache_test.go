package ratelimit_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
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
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// uncached is a rule without the deny cache.
func uncached(name string, bands ...api.Band) api.Rule {
	r := rule(name, bands...)
	r.DenyCache = "off"
	return r
}

// signalled is a sidecar with a test clock that receives the broadcasts of others.
func signalled(t *testing.T, url, prefix string, clock *conformance.Clock) *ratelimit.Limiter {
	r, keys := luatest.Open(t, lua.Options{URL: url, Clock: clock.Micros}), coord.NewKeys(prefix, "")
	signals := coord.NewSignals(r, keys)
	t.Cleanup(signals.Stop)
	return ratelimit.New(ratelimit.Options{
		Runner: r, Keys: keys, Rules: ratelimit.NewRules(), Signals: signals, Telemetry: telemetry.Nop(), Clock: clock,
	})
}

func acquire(t *testing.T, l *ratelimit.Limiter, r *api.RatelimitParams) api.RatelimitResult {
	t.Helper()
	d, err := l.Acquire(t.Context(), coord.Caller{}, r)
	require.NoError(t, err)
	return d
}

// The same calls get the same decisions with the cache and without it, to the millisecond.
func TestTheDenyCacheChangesNoDecision(t *testing.T) {
	t.Parallel()
	two := []api.Band{band(10, time.Second), band(60, time.Minute)}
	for name, c := range map[string]struct {
		algorithm string
		bands     []api.Band
	}{
		"whole microseconds": {tokenBucket, []api.Band{band(80, time.Minute)}},
		"fractions":          {tokenBucket, []api.Band{band(7, 3*time.Second)}},
		"a burst":            {tokenBucket, []api.Band{{Limit: 3, PeriodMS: 1000, Burst: 9}}},
		"two bands":          {tokenBucket, two},
		"leaky":              {"leaky_bucket", []api.Band{{Limit: 10, PeriodMS: 5000, Burst: 8}}},
		"windows":            {"fixed_window", two},
		"one window":         {"fixed_window", two[:1]},
		"a log":              {"sliding_window_log", two},
		"a counter":          {"sliding_window_counter", two},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bands := c.bands
			f := newFleet(t, redistest.URL(t), 1, api.RatelimitParams{})
			s, rng := f.pods[0], rand.New(rand.NewPCG(3, uint64(len(name))))
			with, without := rule("on", bands...), uncached("off", bands...)
			with.Algorithm, without.Algorithm = c.algorithm, c.algorithm
			require.NoError(t, s.Rules.Set([]api.Rule{with, without}, 1))
			cached, refused := 0, 0
			for range 2000 {
				key, cost := fmt.Sprint("k", rng.IntN(2)), 1+rng.Int64N(min(12, bands[0].Limit))
				if rng.IntN(3) > 0 {
					cost = 1 + rng.Int64N(2)
				}
				ask := func(name string) api.RatelimitResult {
					return acquire(t, s.Limiter, asks(byRule(name, key), cost))
				}
				on, off := ask("on"), ask("off")
				if on.Source == coord.SourceCache {
					cached++
				}
				if !off.Allowed {
					refused++
				}
				require.Equal(t, coord.SourceRedis, off.Source)
				what := fmt.Sprintf("cost %d: %+v, without the cache %+v", cost, on, off)
				require.Equal(t, off.Allowed, on.Allowed, what)
				require.Equal(t, millis(off.RetryAfterMS), millis(on.RetryAfterMS), what)
				require.Equal(t, millis(off.ResetAfterMS), millis(on.ResetAfterMS), what)
				require.Equal(t, off.DeniedBy, on.DeniedBy, what)
				f.clock.Advance(time.Duration(rng.Int64N(int64(400 * time.Millisecond))).Truncate(time.Microsecond))
			}
			require.Greater(t, refused, 100)
			require.Greater(t, cached, refused/20)
		})
	}
}

func TestARefusalIsRepeatedLocallyForASecondAtMost(t *testing.T) {
	t.Parallel()
	f := newFleet(t, redistest.URL(t), 2, api.RatelimitParams{})
	here, there := f.pods[0].Limiter, f.pods[1].Limiter // neither receives broadcasts of the other
	limit := inFull("k", band(4, time.Minute))
	require.True(t, acquire(t, here, asks(limit, 3)).Allowed)
	first := acquire(t, here, asks(limit, 2))
	require.Equal(t, coord.SourceRedis, first.Source)
	f.clock.Advance(400 * time.Millisecond)
	again := acquire(t, here, asks(limit, 2))
	require.Equal(t, coord.SourceCache, again.Source)
	require.Equal(t, millis(first.RetryAfterMS)-400*time.Millisecond, millis(again.RetryAfterMS))
	require.Equal(t, millis(first.ResetAfterMS)-400*time.Millisecond, millis(again.ResetAfterMS))
	require.Equal(t, first.ResetAtMS, again.ResetAtMS)
	dearer := acquire(t, here, asks(limit, 3))
	require.Equal(t, coord.SourceCache, dearer.Source)
	require.Equal(t, millis(again.RetryAfterMS)+15*time.Second, millis(dearer.RetryAfterMS))
	require.Equal(t, int64(-1), acquire(t, here, asks(limit, 5)).RetryAfterMS)
	require.True(t, acquire(t, here, asks(limit, 1)).Allowed, "what costs less is asked")
	// Another key, other terms, and looking are others' business.
	require.True(t, acquire(t, here, asks(inFull("other", band(4, time.Minute)), 2)).Allowed)
	require.Equal(t, coord.SourceRedis, acquire(t, here, asks(inFull("k", band(5, time.Minute)), 5)).Source)
	d, err := here.Peek(t.Context(), coord.Caller{}, asks(limit, 2))
	require.NoError(t, err)
	require.Equal(t, coord.SourceRedis, d.Source)

	require.Equal(t, coord.SourceRedis, acquire(t, here, asks(limit, 2)).Source, "what was let through made the wait longer")

	_, err = there.Reset(t.Context(), coord.Caller{}, reset(limit))
	require.NoError(t, err)
	f.clock.Advance(999_999 * time.Microsecond)
	require.False(t, acquire(t, here, asks(limit, 2)).Allowed, "the broadcast was lost")
	f.clock.Advance(time.Microsecond)
	require.True(t, acquire(t, here, asks(limit, 2)).Allowed, "a second after the refusal was asked for")
}

func TestAReadyWaiterIsNotRefusedLocally(t *testing.T) {
	t.Parallel()
	f := perSecond(t, 1)
	require.False(t, acquire(t, f.pods[0].Limiter, asks(f.ref, 1)).Allowed)
	near := acquire(t, f.pods[0].Limiter, waits(f.ref, 1, 249*time.Millisecond))
	require.Equal(t, coord.SourceCache, near.Source)
	w := f.start(0, "", 1, 250*time.Millisecond)
	require.Equal(t, 1, f.sleeping())
	// A call that leaves makes room, which this sidecar uses at once.
	require.False(t, acquire(t, f.pods[0].Limiter, asks(f.ref, 1)).Allowed)
	w.leave(t)
	require.Equal(t, int64(250), acquire(t, f.pods[0].Limiter, asks(f.ref, 1)).RetryAfterMS)
}

func TestARepeatedRequestIsNotAnsweredByARememberedRefusal(t *testing.T) {
	t.Parallel()
	f := newFleet(t, redistest.URL(t), 1, api.RatelimitParams{})
	l, limit := f.pods[0].Limiter, inFull("k", band(1, time.Hour))
	c := coord.Caller{RequestID: "id", Fingerprint: "f"}
	first, err := l.Acquire(t.Context(), c, asks(limit, 1))
	require.NoError(t, err)
	require.True(t, first.Allowed)
	require.Equal(t, coord.SourceRedis, acquire(t, l, asks(limit, 1)).Source)
	other, err := l.Acquire(t.Context(), coord.Caller{RequestID: "other", Fingerprint: "f"}, asks(limit, 1))
	require.NoError(t, err)
	require.Equal(t, coord.SourceCache, other.Source)
	again, err := l.Acquire(t.Context(), c, asks(limit, 1))
	require.NoError(t, err)
	require.True(t, again.Allowed && again.Replayed, "its reply was lost; a refusal of others changes nothing")
}

func TestAResetActsAtOnceInEverySidecar(t *testing.T) {
	t.Parallel()
	clock, prefix := conformance.NewClock(), redistest.Prefix(t)
	here, there := signalled(t, redistest.URL(t), prefix, clock), signalled(t, redistest.URL(t), prefix, clock)
	limit := inFull("k", band(1, time.Hour))
	for _, l := range []*ratelimit.Limiter{here, there} {
		untilAllowed(t, here, limit)
		require.False(t, acquire(t, here, asks(limit, 1)).Allowed)
		_, err := l.Reset(t.Context(), coord.Caller{}, reset(limit))
		require.NoError(t, err)
	}
	untilAllowed(t, here, limit)
}

// untilAllowed asks until the limit admits a call. The clock stands still,
// so that no refusal ends by itself.
func untilAllowed(t *testing.T, l *ratelimit.Limiter, limit api.RatelimitParams) {
	t.Helper()
	require.Eventually(t, func() bool { return acquire(t, l, asks(limit, 1)).Allowed }, 30*time.Second, time.Millisecond, "it was never told")
}

func TestASubscriptionThatBrokeForgetsAllRefusals(t *testing.T) {
	t.Parallel()
	server, clock := redistest.Start(t), conformance.NewClock()
	l := signalled(t, server.URL(), "p", clock)
	limit := inFull("k", band(1, time.Hour))
	require.True(t, acquire(t, l, asks(limit, 1)).Allowed)
	require.False(t, acquire(t, l, asks(limit, 1)).Allowed)
	// A reset whose broadcast is lost.
	c := server.Client(t)
	require.EqualValues(t, 1, c.Del(t.Context(), ratelimit.InFullKey(coord.NewKeys("p", ""), "k", tokenBucket, band(1, time.Hour))).Val())
	require.Eventually(t, func() bool {
		if acquire(t, l, asks(limit, 1)).Allowed {
			return true
		}
		// It may not have subscribed so far.
		_ = c.ClientKillByFilter(t.Context(), "TYPE", "pubsub").Err()
		return false
	}, 30*time.Second, 10*time.Millisecond, "it was never told")
}

// TestResetNeedsNoRightToPublish: without the right, caches are late by at most a second.
func TestResetNeedsNoRightToPublish(t *testing.T) {
	t.Parallel()
	server, clock := redistest.Start(t), conformance.NewClock()
	require.NoError(t, server.Client(t).Do(t.Context(), "ACL", "SETUSER", "app", "on", ">pw", "~*", "&*", "+@all", "-publish").Err())
	url := strings.Replace(server.URL(), "redis://", "redis://app:pw@", 1)
	here, there := signalled(t, url, "p", clock), signalled(t, url, "p", clock)
	limit := inFull("k", band(1, time.Hour))
	require.True(t, acquire(t, here, asks(limit, 1)).Allowed)
	// The refusals of an interval before it has subscribed are forgotten.
	require.False(t, acquire(t, here, asks(limit, 1)).Allowed)
	was, err := there.Reset(t.Context(), coord.Caller{}, reset(limit))
	require.NoError(t, err)
	require.True(t, was.Reset)
	clock.Advance(time.Second)
	require.True(t, acquire(t, here, asks(limit, 1)).Allowed)
}

func TestRefusalsAreBounded(t *testing.T) {
	t.Parallel()
	f := newFleet(t, redistest.URL(t), 1, api.RatelimitParams{})
	for page := range coord.MaxRecent/100 + 5 {
		items := make([]api.RatelimitItem, 100)
		for i := range items {
			items[i] = api.RatelimitItem{
				Algorithm: tokenBucket, Limits: []api.Band{band(0, time.Hour)}, Key: fmt.Sprint("k", page, " ", i), Cost: 1,
			}
		}
		r, err := f.pods[0].Limiter.AcquireMany(t.Context(), coord.Caller{}, &api.RatelimitManyParams{Items: items})
		require.NoError(t, err)
		for _, x := range r.Results {
			require.NotNil(t, x.Result, "%v", x.Error)
			require.False(t, x.Result.Allowed)
		}
	}
	denials, _ := f.pods[0].Limiter.Remembered()
	require.Equal(t, coord.MaxRecent, denials)
}

func TestAnAnswerFromTheCacheAllocatesNothing(t *testing.T) {
	s := coordtest.New(t, luatest.Open(t, lua.Options{URL: redis.Embedded}), "p")
	require.NoError(t, s.Rules.Set([]api.Rule{rule("r", band(1, 24*time.Hour))}, 1))
	r := asks(byRule("r", "k"), 2)
	acquire(t, s.Limiter, r)
	ctx, cached := t.Context(), true
	allocs := testing.AllocsPerRun(100, func() {
		d, err := s.Limiter.Acquire(ctx, coord.Caller{}, r)
		cached = cached && err == nil && d.Source == coord.SourceCache
	})
	if cached { // within the second that it holds
		require.Zero(t, allocs)
	}
}

// A rule that is reloaded decides at once, whatever was refused under the old one.
func TestAReloadedRuleDecidesAtOnce(t *testing.T) {
	t.Parallel()
	f := newFleet(t, redistest.URL(t), 1, api.RatelimitParams{})
	s := f.pods[0]
	set := func(revision int64, bands ...api.Band) {
		require.NoError(t, s.Rules.Set([]api.Rule{rule("r", bands...)}, revision))
	}
	set(1, band(10, time.Hour))
	require.True(t, acquire(t, s.Limiter, asks(byRule("r", "raised"), 10)).Allowed)
	require.False(t, acquire(t, s.Limiter, asks(byRule("r", "raised"), 1)).Allowed)
	set(2, band(1000, time.Second))
	require.True(t, acquire(t, s.Limiter, asks(byRule("r", "raised"), 1)).Allowed, "10 per hour used up, now 1,000 per second")

	set(3, band(100, time.Minute))
	require.True(t, acquire(t, s.Limiter, asks(byRule("r", "lowered"), 80)).Allowed)
	set(4, band(10, time.Minute))
	d := acquire(t, s.Limiter, asks(byRule("r", "lowered"), 1))
	require.False(t, d.Allowed, "100 with 80 used, now 10")
	require.Zero(t, d.Remaining, "never negative")
	require.Equal(t, 6*time.Second, millis(d.RetryAfterMS))

	// Two sets of one revision are distinguished by their content.
	set(4, band(11, time.Minute))
	require.Equal(t, coord.SourceRedis, acquire(t, s.Limiter, asks(byRule("r", "lowered"), 1)).Source)

	// Slots that were promised stay; the debt counts at the new rate.
	f.ref = byRule("r", "waits")
	set(5, band(1, time.Minute))
	f.start(0, "", 1, 0).let(t, 0)
	w := f.start(0, "", 1, time.Minute)
	set(6, band(60, time.Minute))
	d = acquire(t, s.Limiter, asks(f.ref, 60))
	require.Equal(t, 2*time.Second, millis(d.RetryAfterMS), "one used and one promised")
	f.clock.Advance(time.Minute)
	w.let(t, time.Minute)
}

// Limits given in full have no name that could distinguish them.
func TestARefusalIsOfItsAlgorithmOnly(t *testing.T) {
	t.Parallel()
	f := newFleet(t, redistest.URL(t), 1, api.RatelimitParams{})
	l := f.pods[0].Limiter
	window, bucket := inFull("k", band(4, time.Minute)), inFull("k", band(4, time.Minute))
	window.Algorithm = "fixed_window"
	require.True(t, acquire(t, l, asks(window, 4)).Allowed)
	require.False(t, acquire(t, l, asks(window, 1)).Allowed)
	require.True(t, acquire(t, l, asks(bucket, 4)).Allowed)
	require.Equal(t, coord.SourceCache, acquire(t, l, asks(window, 1)).Source)
}
