package ratelimit_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lock"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
)

func TestPollingNeverLosesAFraction(t *testing.T) {
	t.Parallel()
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		r := modelRule{{limit: 10, periodMS: 6_000, burst: 10}}
		admitted := 0
		for i := range int64(60) {
			if charge(t, s, luatest.Epoch+i*luatest.Second/2, s.Key("half-seconds"), r, 1, 1, false).Admitted() {
				admitted++
			}
		}
		require.InDelta(t, 60, admitted, 1, "10 at once and 50 refilled in 30 s")

		// 180 ms are 0.3 token.
		admitted = 0
		for i := range int64(1001) {
			if charge(t, s, luatest.Epoch+i*180_000, s.Key("fractions"), r, 1, 1, false).Admitted() {
				admitted++
			}
		}
		require.InDelta(t, 10+300, admitted, 1)
	})
}

func TestARefusalLeavesTheKeyAsItWas(t *testing.T) {
	t.Parallel()
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		key, r := s.Key("a"), modelRule{{limit: 10, periodMS: 6_000, burst: 10}}
		require.True(t, charge(t, s, luatest.Epoch, key, r, 1, 8, false).Admitted())
		require.Positive(t, s.TTL(key))
		before := s.Raw(t, key)
		unchanged := func() {
			require.Equal(t, before, s.Raw(t, key))
			require.EqualValues(t, -1, s.TTL(key))
		}

		refused := charge(t, s, luatest.Epoch, key, r, 1, 5, false)
		require.False(t, refused.Admitted())
		require.EqualValues(t, 2, refused.Remaining)
		unchanged()
		peeked := charge(t, s, luatest.Epoch, key, r, 1, 2, true)
		require.True(t, peeked.Admitted())
		require.EqualValues(t, 2, peeked.Remaining, "looking takes nothing")
		unchanged()
		finite := charge(t, s, luatest.Epoch, key, r, 1, 10, false)
		require.EqualValues(t, 8*600_000, finite.RetryAfterUS, "all of it is there when all is refilled")
		unchanged()
		require.EqualValues(t, -1, charge(t, s, luatest.Epoch, key, r, 1, 11, false).RetryAfterUS)
		unchanged()

		require.EqualValues(t, -1, charge(t, s, luatest.Epoch, s.Key("new"), r, 1, 11, false).RetryAfterUS)
		require.Equal(t, "none", s.Raw(t, s.Key("new")))
	})
}

func TestSleepingRetryAfterAndAskingOnceSucceeds(t *testing.T) {
	t.Parallel()
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		rng := rand.New(rand.NewPCG(1, 2))
		// Uniform in the exponent, so that small and huge rules are as likely.
		draw := func(most int64) int64 { return 1 + rng.Int64N(1+rng.Int64N(1+rng.Int64N(most))) }
		for i := range 1000 {
			r := make(modelRule, 1+rng.IntN(3))
			least := int64(1e9)
			for b := range r {
				r[b].limit, r[b].periodMS = draw(1e9), draw(366*86_400_000)
				r[b].burst = draw(1e9)
				least = min(least, r[b].burst)
			}
			key, now, cost := s.Key(fmt.Sprint("r", i)), luatest.Epoch, 1+rng.Int64N(least)
			require.True(t, charge(t, s, now, key, r, 1, least, false).Admitted())
			now += rng.Int64N(5)
			refused := charge(t, s, now, key, r, 1, cost, false)
			if !refused.Admitted() && refused.RetryAfterUS < 1<<52 {
				require.False(t, charge(t, s, now+refused.RetryAfterUS-1, key, r, 1, cost, false).Admitted(), "%v: earlier than told", r)
				ms := (refused.RetryAfterUS + 999) / 1000
				require.True(t, charge(t, s, now+ms*1000, key, r, 1, cost, true).Admitted(), "%v: told in milliseconds", r)
				require.True(t, charge(t, s, now+refused.RetryAfterUS, key, r, 1, cost, false).Admitted(), "%v: exactly when told", r)
			}
			s.Del(t, key)
		}
	})
}

func TestAReloadedRuleTakesEffectAtOnce(t *testing.T) {
	t.Parallel()
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		hourly, fast := modelRule{{limit: 10, periodMS: 3_600_000, burst: 10}}, modelRule{{limit: 1000, periodMS: 1000, burst: 1000}}
		require.True(t, charge(t, s, luatest.Epoch, s.Key("raised"), hourly, 1, 10, false).Admitted())
		require.False(t, charge(t, s, luatest.Epoch, s.Key("raised"), hourly, 1, 1, false).Admitted())
		require.True(t, charge(t, s, luatest.Epoch, s.Key("raised"), fast, 2, 1, false).Admitted())

		wide, narrow := modelRule{{limit: 100, periodMS: 60_000, burst: 100}}, modelRule{{limit: 10, periodMS: 60_000, burst: 10}}
		require.True(t, charge(t, s, luatest.Epoch, s.Key("lowered"), wide, 1, 80, false).Admitted())
		refused := charge(t, s, luatest.Epoch, s.Key("lowered"), narrow, 2, 1, false)
		require.False(t, refused.Admitted())
		require.Zero(t, refused.Remaining)
		require.EqualValues(t, 6*luatest.Second, refused.RetryAfterUS)
	})
}

func TestHighRates(t *testing.T) {
	t.Parallel()
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		for _, limit := range []int64{10_000, 100_000, 1_000_000} {
			key, r := s.Key(fmt.Sprint("n", limit)), modelRule{{limit: limit, periodMS: 1000, burst: 6000}}
			// 6,100 within 200 us: most at once, then one each microsecond.
			require.True(t, charge(t, s, luatest.Epoch, key, r, 1, 5900, false).Admitted())
			admitted := int64(5900)
			for i := range int64(200) {
				if charge(t, s, luatest.Epoch+i, key, r, 1, 1, false).Admitted() {
					require.GreaterOrEqual(t, s.TTL(key), time.Millisecond)
					admitted++
				}
			}
			require.Equal(t, min(6000+199*limit/luatest.Second, 6100), admitted, "limit %d", limit)
		}
	})
}

func TestLongPeriodsAreNotForgottenEarly(t *testing.T) {
	t.Parallel()
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		key, r := s.Key("week"), modelRule{{limit: 700, periodMS: 7 * 86_400_000, burst: 700}}
		require.True(t, charge(t, s, luatest.Epoch, key, r, 1, 700, false).Admitted())
		require.Greater(t, s.TTL(key), 7*24*time.Hour)
		idle := charge(t, s, luatest.Epoch+25*luatest.Hour, key, r, 1, 0, true)
		require.EqualValues(t, 25*100/24, idle.Remaining, "25 hours' worth")
		require.Less(t, s.Client.PTTL(context.Background(), key).Val(), time.Duration(0), "the key has no TTL")
		require.True(t, charge(t, s, luatest.Epoch+25*luatest.Hour, key, r, 1, 1, false).Admitted())
		require.Greater(t, s.TTL(key), 5*24*time.Hour, "the next write heals it")
	})
}

func TestAllBandsOrNone(t *testing.T) {
	t.Parallel()
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		key, r := s.Key("a"), modelRule{{limit: 10, periodMS: 1000, burst: 10}, {limit: 100, periodMS: 60_000, burst: 100}}
		now := luatest.Epoch
		for range 11 { // 10 each second: 100, and what the minute refilled meanwhile
			require.True(t, charge(t, s, now, key, r, 1, 10, false).Admitted())
			now += luatest.Second
		}
		before := s.Raw(t, key)
		refused := charge(t, s, now, key, r, 1, 10, false)
		require.False(t, refused.Admitted())
		require.EqualValues(t, 2, refused.Band, "the minute's band is named")
		require.EqualValues(t, 8, refused.Remaining)
		require.Equal(t, before, s.Raw(t, key), "the second's band was not charged")
		require.EqualValues(t, 10, charge(t, s, now, key, modelRule{r[0]}, 2, 1, true).Remaining)
	})
}

// TestOtherTypesAreErrorsAndStay: a foreign value under a key is found before anything is written.
func TestOtherTypesAreErrorsAndStay(t *testing.T) {
	t.Parallel()
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		ctx := context.Background()
		require.NoError(t, s.Client.Set(ctx, s.Key("text"), "v", 0).Err())
		require.NoError(t, s.Client.HSet(ctx, s.Key("hash"), "f", "v").Err())
		const sig = "1/1/1000/1"
		runs := []struct {
			name string
			run  func(key string, l lua.StoredReply) error
		}{
			{"lean", func(key string, l lua.StoredReply) error {
				keys, args := lua.InputOf(ratelimit.TokenBucketScript, ratelimit.TokenBucketIn{State: key, Pace: key + "pace", Cost: 1, Signature: sig, Capacity: 1, L: 1, P: 1000})
				_, err := s.Eval(ratelimit.TokenBucketScript.Source, luatest.Epoch, keys, args, l)
				return err
			}},
			{"bands", func(key string, l lua.StoredReply) error {
				keys, args := lua.InputOf(ratelimit.ChargeScript("token_bucket"), ratelimit.In{State: key, Pace: key + "pace", Charge: ratelimit.Charge{Cost: 1, Signature: sig}})
				_, err := s.Eval(ratelimit.ChargeScript("token_bucket").Source, luatest.Epoch, keys, args, l)
				return err
			}},
			{"lock", func(key string, l lua.StoredReply) error {
				keys, args := lua.InputOf(lock.AcquireScript, lock.AcquireIn{Lock: key, LineKeys: lease.LineKeysOf(key), Token: "t", TTLMS: 1000})
				_, err := s.Eval(lock.AcquireScript.Source, luatest.Epoch, keys, args, l)
				return err
			}},
		}
		for _, r := range runs {
			require.ErrorContains(t, r.run(s.Key("text"), lua.StoredReply{Key: s.Key("idem"), Fingerprint: "f"}), "WRONGTYPE", r.name)
			require.Equal(t, `string "v"`, s.Raw(t, s.Key("text")), r.name)
			require.Equal(t, "none", s.Raw(t, s.Key("idem")), r.name)
			require.ErrorContains(t, r.run(s.Key("free"), lua.StoredReply{Key: s.Key("hash"), Fingerprint: "f"}), "WRONGTYPE", r.name)
			require.Equal(t, "none", s.Raw(t, s.Key("free")), r.name)
		}
	})
}
