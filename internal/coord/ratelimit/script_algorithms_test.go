package ratelimit_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
)

// takes charges a key, or returns why not.
type takes = func(now int64, key string, r modelRule, revision, cost int64) ratelimit.Out

// eachOther runs a test for the algorithms whose state is that of lib/state.lua,
// the token bucket apart, which has its own.
func eachOther(t *testing.T, test func(t *testing.T, s *luatest.Store, take takes)) {
	for _, algorithm := range []string{"leaky_bucket", "fixed_window"} {
		t.Run(algorithm, func(t *testing.T) {
			t.Parallel()
			luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
				test(t, s, func(now int64, key string, r modelRule, revision, cost int64) ratelimit.Out {
					return ask{algorithm: algorithm, rule: r, revision: revision, cost: cost}.run(t, s, now, s.Key(key))
				})
			})
		})
	}
}

func TestSleepingRetryAfterOfEachAlgorithmAndAskingOnceSucceeds(t *testing.T) {
	t.Parallel()
	eachOther(t, func(t *testing.T, s *luatest.Store, take takes) {
		rng, refused := rand.New(rand.NewPCG(3, 5)), 0
		draw := func(most int64) int64 { return 1 + rng.Int64N(1+rng.Int64N(1+rng.Int64N(most))) }
		// The embedded store takes ten times as long for each.
		rules := map[string]int{"embedded": 200}[s.Name]
		for i := range cmp.Or(rules, 1000) {
			r, least, key := make(modelRule, 1+rng.IntN(3)), int64(1e9), fmt.Sprint("r", i)
			for b := range r {
				// Nobody waits 142 years, which is what a leaky bucket can hold.
				r[b].limit, r[b].periodMS, r[b].burst = draw(1e9), draw(366*86_400_000), draw(100)
				least = min(least, r[b].burst)
			}
			now, cost := luatest.Epoch+rng.Int64N(luatest.Hour), 1+rng.Int64N(least)
			require.True(t, take(now, key, r, 1, least).Admitted())
			now += rng.Int64N(5)
			if out := take(now, key, r, 1, cost); !out.Admitted() {
				refused++
				require.False(t, take(now+out.RetryAfterUS-1, key, r, 1, cost).Admitted(), "%v: earlier than told", r)
				require.True(t, take(now+out.RetryAfterUS, key, r, 1, cost).Admitted(), "%v: exactly when told", r)
			}
			s.Del(t, s.Key(key))
		}
		require.Greater(t, refused, 60)
	})
}

func TestARefusalOfEachAlgorithmLeavesTheKeyAsItWas(t *testing.T) {
	t.Parallel()
	eachOther(t, func(t *testing.T, s *luatest.Store, take takes) {
		r := modelRule{{limit: 10, periodMS: 6_000, burst: 10}}
		require.True(t, take(luatest.Epoch, "a", r, 1, 8).Admitted())
		before := s.Raw(t, s.Key("a"))
		for _, cost := range []int64{3, 5, 10, 11} {
			refused := take(luatest.Epoch, "a", r, 1, cost)
			require.False(t, refused.Admitted())
			require.EqualValues(t, 2, refused.Remaining)
			require.Equal(t, cost > 10, refused.RetryAfterUS == -1)
			require.Equal(t, before, s.Raw(t, s.Key("a")))
			require.EqualValues(t, -1, s.TTL(s.Key("a")))
		}
		require.EqualValues(t, -1, take(luatest.Epoch, "new", r, 1, 11).RetryAfterUS)
		require.Equal(t, "none", s.Raw(t, s.Key("new")))
	})
}

func TestAReloadedRuleOfEachAlgorithmTakesEffectAtOnce(t *testing.T) {
	t.Parallel()
	eachOther(t, func(t *testing.T, _ *luatest.Store, take takes) {
		hourly, fast := modelRule{{limit: 10, periodMS: 3_600_000, burst: 10}}, modelRule{{limit: 1000, periodMS: 1000, burst: 1000}}
		require.True(t, take(luatest.Epoch, "raised", hourly, 1, 10).Admitted())
		require.False(t, take(luatest.Epoch, "raised", hourly, 1, 1).Admitted())
		require.True(t, take(luatest.Epoch, "raised", fast, 2, 1).Admitted())

		wide, narrow := modelRule{{limit: 100, periodMS: 60_000, burst: 100}}, modelRule{{limit: 10, periodMS: 60_000, burst: 10}}
		require.True(t, take(luatest.Epoch, "lowered", wide, 1, 80).Admitted())
		refused := take(luatest.Epoch, "lowered", narrow, 2, 1)
		require.False(t, refused.Admitted())
		require.Zero(t, refused.Remaining)
	})
}

func TestHighRatesOfEachAlgorithm(t *testing.T) {
	t.Parallel()
	eachOther(t, func(t *testing.T, s *luatest.Store, take takes) {
		for _, limit := range []int64{10_000, 100_000, 1_000_000} {
			key, r, admitted := fmt.Sprint("n", limit), modelRule{{limit: limit, periodMS: 1000, burst: 6000}}, int64(5900)
			require.True(t, take(luatest.Epoch, key, r, 1, 5900).Admitted())
			for i := range int64(200) {
				if take(luatest.Epoch+i, key, r, 1, 1).Admitted() {
					require.GreaterOrEqual(t, s.TTL(s.Key(key)), time.Millisecond)
					admitted++
				}
			}
			require.LessOrEqual(t, admitted, min(6000+199*limit/luatest.Second, 6100))
			require.GreaterOrEqual(t, admitted, int64(6000))
		}
	})
}

func TestLongPeriodsOfEachAlgorithmAreNotForgottenEarly(t *testing.T) {
	t.Parallel()
	eachOther(t, func(t *testing.T, s *luatest.Store, take takes) {
		r := modelRule{{limit: 700, periodMS: 7 * 86_400_000, burst: 700}}
		require.True(t, take(luatest.Epoch, "week", r, 1, 700).Admitted())
		require.Greater(t, s.TTL(s.Key("week")), 7*24*time.Hour)
		require.LessOrEqual(t, take(luatest.Epoch+25*luatest.Hour, "week", r, 1, 0).Remaining, int64(25*100/24), "at most 25 hours' worth")
		require.Less(t, s.Client.PTTL(context.Background(), s.Key("week")).Val(), time.Duration(0), "the key has no TTL")
		r[0].limit, r[0].burst = 800, 800
		require.True(t, take(luatest.Epoch+25*luatest.Hour, "week", r, 2, 1).Admitted())
		require.Greater(t, s.TTL(s.Key("week")), 5*24*time.Hour, "the next write heals it")
	})
}

// TestFixedWindowsBeginAnew: charges every half window count in their own window, and refusals do not extend the wait.
func TestFixedWindowsBeginAnew(t *testing.T) {
	t.Parallel()
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		a := ask{algorithm: "fixed_window", rule: modelRule{{limit: 2, periodMS: 6_000, burst: 2}}, revision: 1, cost: 1}
		for i := range int64(10) {
			out := a.run(t, s, luatest.Epoch+i*3*luatest.Second, s.Key("halves"))
			require.True(t, out.Admitted())
			require.Equal(t, 1+i%2, out.Current, "the count starts again in each window")
		}
		for i := range int64(60) {
			out := a.run(t, s, luatest.Epoch+i*100_000, s.Key("denied"))
			require.Equal(t, i < 2, out.Admitted())
		}
		require.True(t, a.run(t, s, luatest.Epoch+6*luatest.Second, s.Key("denied")).Admitted())
	})
}

// TestALeakyBucketIsEven: a limit of 10 per 6 s admits one each 600 ms, however many calls come in between.
func TestALeakyBucketIsEven(t *testing.T) {
	t.Parallel()
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		a := ask{algorithm: "leaky_bucket", rule: modelRule{{limit: 10, periodMS: 6_000, burst: 1}}, revision: 1, cost: 1}
		for i := range int64(601) {
			require.Equal(t, i%12 == 0, a.run(t, s, luatest.Epoch+i*50_000, s.Key("even")).Admitted(), "at %d ms", 50*i)
		}
		// 180 ms are 0.3 token.
		a.rule[0].burst, a.revision = 10, 2
		admitted := 0
		for i := range int64(1001) {
			if a.run(t, s, luatest.Epoch+i*180_000, s.Key("fractions")).Admitted() {
				admitted++
			}
		}
		require.InDelta(t, 10+300, admitted, 1)
	})
}

func TestAllBandsOfEachAlgorithmOrNone(t *testing.T) {
	t.Parallel()
	eachOther(t, func(t *testing.T, s *luatest.Store, take takes) {
		r := modelRule{{limit: 10, periodMS: 1000, burst: 10}, {limit: 30, periodMS: 60_000, burst: 30}}
		now := luatest.Epoch
		for range 3 {
			require.True(t, take(now, "a", r, 1, 10).Admitted())
			now += luatest.Second
		}
		before := s.Raw(t, s.Key("a"))
		refused := take(now, "a", r, 1, 10)
		require.False(t, refused.Admitted())
		require.EqualValues(t, 2, refused.Band, "the minute's band is named")
		require.Equal(t, before, s.Raw(t, s.Key("a")), "the second's band was not charged")
	})
}
