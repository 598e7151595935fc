package lua_test

import (
	"context"
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/coord/lock"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

const (
	second = int64(1_000_000)
	hour   = 3600 * second
)

func TestPollingNeverLosesAFraction(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s *store) {
		r := rule{{limit: 10, periodMS: 6_000, burst: 10}}
		admitted := 0
		for i := range int64(60) {
			if charge(t, s, epoch+i*second/2, s.key("half-seconds"), r, 1, 1, false).Admitted() {
				admitted++
			}
		}
		require.InDelta(t, 60, admitted, 1, "10 at once and 50 refilled in 30 s")

		// 180 ms are 0.3 token.
		admitted = 0
		for i := range int64(1001) {
			if charge(t, s, epoch+i*180_000, s.key("fractions"), r, 1, 1, false).Admitted() {
				admitted++
			}
		}
		require.InDelta(t, 10+300, admitted, 1)
	})
}

func TestARefusalLeavesTheKeyAsItWas(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s *store) {
		key, r := s.key("a"), rule{{limit: 10, periodMS: 6_000, burst: 10}}
		require.True(t, charge(t, s, epoch, key, r, 1, 8, false).Admitted())
		require.Positive(t, s.ttl(key))
		before := s.raw(t, key)
		unchanged := func() {
			require.Equal(t, before, s.raw(t, key))
			require.EqualValues(t, -1, s.ttl(key))
		}

		refused := charge(t, s, epoch, key, r, 1, 5, false)
		require.False(t, refused.Admitted())
		require.EqualValues(t, 2, refused.Remaining)
		unchanged()
		peeked := charge(t, s, epoch, key, r, 1, 2, true)
		require.True(t, peeked.Admitted())
		require.EqualValues(t, 2, peeked.Remaining, "looking takes nothing")
		unchanged()
		finite := charge(t, s, epoch, key, r, 1, 10, false)
		require.EqualValues(t, 8*600_000, finite.RetryAfterUS, "all of it is there when all is refilled")
		unchanged()
		require.EqualValues(t, -1, charge(t, s, epoch, key, r, 1, 11, false).RetryAfterUS)
		unchanged()

		require.EqualValues(t, -1, charge(t, s, epoch, s.key("new"), r, 1, 11, false).RetryAfterUS)
		require.Equal(t, "none", s.raw(t, s.key("new")))
	})
}

func TestSleepingRetryAfterAndAskingOnceSucceeds(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s *store) {
		rng := rand.New(rand.NewPCG(1, 2))
		// Uniform in the exponent, so that small and huge rules are as likely.
		draw := func(most int64) int64 { return 1 + rng.Int64N(1+rng.Int64N(1+rng.Int64N(most))) }
		for i := range 1000 {
			r := make(rule, 1+rng.IntN(3))
			least := int64(1e9)
			for b := range r {
				r[b].limit, r[b].periodMS = draw(1e9), draw(366*86_400_000)
				r[b].burst = draw(1e9)
				least = min(least, r[b].burst)
			}
			key, now, cost := s.key(fmt.Sprint("r", i)), epoch, 1+rng.Int64N(least)
			require.True(t, charge(t, s, now, key, r, 1, least, false).Admitted())
			now += rng.Int64N(5)
			refused := charge(t, s, now, key, r, 1, cost, false)
			if !refused.Admitted() && refused.RetryAfterUS < 1<<52 {
				require.False(t, charge(t, s, now+refused.RetryAfterUS-1, key, r, 1, cost, false).Admitted(), "%v: earlier than told", r)
				ms := (refused.RetryAfterUS + 999) / 1000
				require.True(t, charge(t, s, now+ms*1000, key, r, 1, cost, true).Admitted(), "%v: told in milliseconds", r)
				require.True(t, charge(t, s, now+refused.RetryAfterUS, key, r, 1, cost, false).Admitted(), "%v: exactly when told", r)
			}
			s.del(t, key)
		}
	})
}

func TestAReloadedRuleTakesEffectAtOnce(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s *store) {
		hourly, fast := rule{{limit: 10, periodMS: 3_600_000, burst: 10}}, rule{{limit: 1000, periodMS: 1000, burst: 1000}}
		require.True(t, charge(t, s, epoch, s.key("raised"), hourly, 1, 10, false).Admitted())
		require.False(t, charge(t, s, epoch, s.key("raised"), hourly, 1, 1, false).Admitted())
		require.True(t, charge(t, s, epoch, s.key("raised"), fast, 2, 1, false).Admitted())

		wide, narrow := rule{{limit: 100, periodMS: 60_000, burst: 100}}, rule{{limit: 10, periodMS: 60_000, burst: 10}}
		require.True(t, charge(t, s, epoch, s.key("lowered"), wide, 1, 80, false).Admitted())
		refused := charge(t, s, epoch, s.key("lowered"), narrow, 2, 1, false)
		require.False(t, refused.Admitted())
		require.Zero(t, refused.Remaining)
		require.EqualValues(t, 6*second, refused.RetryAfterUS)
	})
}

func TestHighRates(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s *store) {
		for _, limit := range []int64{10_000, 100_000, 1_000_000} {
			key, r := s.key(fmt.Sprint("n", limit)), rule{{limit: limit, periodMS: 1000, burst: 6000}}
			// 6,100 within 200 us: most at once, then one each microsecond.
			require.True(t, charge(t, s, epoch, key, r, 1, 5900, false).Admitted())
			admitted := int64(5900)
			for i := range int64(200) {
				if charge(t, s, epoch+i, key, r, 1, 1, false).Admitted() {
					require.GreaterOrEqual(t, s.ttl(key), time.Millisecond)
					admitted++
				}
			}
			require.Equal(t, min(6000+199*limit/second, 6100), admitted, "limit %d", limit)
		}
	})
}

func TestLongPeriodsAreNotForgottenEarly(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s *store) {
		key, r := s.key("week"), rule{{limit: 700, periodMS: 7 * 86_400_000, burst: 700}}
		require.True(t, charge(t, s, epoch, key, r, 1, 700, false).Admitted())
		require.Greater(t, s.ttl(key), 7*24*time.Hour)
		idle := charge(t, s, epoch+25*hour, key, r, 1, 0, true)
		require.EqualValues(t, 25*100/24, idle.Remaining, "25 hours' worth")
		require.Less(t, s.client.PTTL(context.Background(), key).Val(), time.Duration(0), "the key has no TTL")
		require.True(t, charge(t, s, epoch+25*hour, key, r, 1, 1, false).Admitted())
		require.Greater(t, s.ttl(key), 5*24*time.Hour, "the next write heals it")
	})
}

func TestAllBandsOrNone(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s *store) {
		key, r := s.key("a"), rule{{limit: 10, periodMS: 1000, burst: 10}, {limit: 100, periodMS: 60_000, burst: 100}}
		now := epoch
		for range 11 { // 10 each second: 100, and what the minute refilled meanwhile
			require.True(t, charge(t, s, now, key, r, 1, 10, false).Admitted())
			now += second
		}
		before := s.raw(t, key)
		refused := charge(t, s, now, key, r, 1, 10, false)
		require.False(t, refused.Admitted())
		require.EqualValues(t, 2, refused.Band, "the minute's band is named")
		require.EqualValues(t, 8, refused.Remaining)
		require.Equal(t, before, s.raw(t, key), "the second's band was not charged")
		require.EqualValues(t, 10, charge(t, s, now, key, rule{r[0]}, 2, 1, true).Remaining)
	})
}

// TestOtherTypesAreErrorsAndStay: a foreign value under a key is found before anything is written.
func TestOtherTypesAreErrorsAndStay(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s *store) {
		ctx := context.Background()
		require.NoError(t, s.client.Set(ctx, s.key("text"), "v", 0).Err())
		require.NoError(t, s.client.HSet(ctx, s.key("hash"), "f", "v").Err())
		const sig = "1/1/1000/1"
		runs := []struct {
			name string
			run  func(key string, l latch) error
		}{
			{"lean", func(key string, l latch) error {
				keys, args := lua.InputOf(ratelimit.TokenBucketScript, ratelimit.TokenBucketIn{State: key, Gate: key + "gate", Cost: 1, Signature: sig, Capacity: 1, L: 1, P: 1000})
				_, err := s.eval(ratelimit.TokenBucketScript.Source, epoch, keys, args, l)
				return err
			}},
			{"bands", func(key string, l latch) error {
				keys, args := lua.InputOf(ratelimit.Ratelimit["token_bucket"], ratelimit.In{State: key, Gate: key + "gate", Charge: ratelimit.Charge{Cost: 1, Signature: sig}})
				_, err := s.eval(ratelimit.Ratelimit["token_bucket"].Source, epoch, keys, args, l)
				return err
			}},
			{"lock", func(key string, l latch) error {
				keys, args := lua.InputOf(lock.AcquireScript, lock.AcquireIn{Lock: key, LineKeys: lineOf(key), Token: "t", TTLMS: 1000})
				_, err := s.eval(lock.AcquireScript.Source, epoch, keys, args, l)
				return err
			}},
		}
		for _, r := range runs {
			require.ErrorContains(t, r.run(s.key("text"), latch{s.key("idem"), "f"}), "WRONGTYPE", r.name)
			require.Equal(t, `string "v"`, s.raw(t, s.key("text")), r.name)
			require.Equal(t, "none", s.raw(t, s.key("idem")), r.name)
			require.ErrorContains(t, r.run(s.key("free"), latch{s.key("hash"), "f"}), "WRONGTYPE", r.name)
			require.Equal(t, "none", s.raw(t, s.key("free")), r.name)
		}
	})
}

// TestScriptsReadTheServersClock runs what is sent in production.
func TestScriptsReadTheServersClock(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s *store) {
		ctx := context.Background()
		for _, src := range lua.Scripts() {
			require.Equal(t, src.SHA(), s.client.ScriptLoad(ctx, src.Text()).Val(), src.Name)
		}
		bands := rule{{limit: 5, periodMS: 1000, burst: 5}}.bands()
		keys, args := lua.InputOf(ratelimit.TokenBucketScript, ratelimit.TokenBucketIn{State: s.key("b"), Gate: s.key("bgate"), Cost: 1, Revision: 1, Signature: signature(bands), Capacity: bands[0].Capacity, L: bands[0].L, P: bands[0].P})
		lockKeys, lockArgs := lua.InputOf(lock.AcquireScript, lock.AcquireIn{Lock: s.key("l"), LineKeys: lineOf(s.key("l")), Token: "t", TTLMS: 1000})
		var from, to *redis.TimeCmd
		var bucket, locked *redis.Cmd
		_, err := s.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
			from = p.Time(ctx)
			bucket = p.EvalSha(ctx, ratelimit.TokenBucketScript.SHA(), keys, args...)
			locked = p.EvalSha(ctx, lock.AcquireScript.SHA(), lockKeys, lockArgs...)
			to = p.Time(ctx)
			return nil
		})
		require.NoError(t, err)
		charged, err := lua.ReadAs(ratelimit.TokenBucketScript, bucket.Val().([]any))
		require.NoError(t, err)
		granted, err := lua.ReadAs(lock.AcquireScript, locked.Val().([]any))
		require.NoError(t, err)
		for _, at := range []int64{charged.NowUS, granted.Fence} {
			require.GreaterOrEqual(t, at, from.Val().UnixMicro())
			require.LessOrEqual(t, at, to.Val().UnixMicro())
		}
	})
}

// TestMuldivIsExact asks the prelude's long multiplication over its whole range.
func TestMuldivIsExact(t *testing.T) {
	t.Parallel()
	text, err := lua.AllFiles.ReadFile("lib/muldiv.lua")
	require.NoError(t, err)
	script := string(text) + `
local out = {}
for i = 1, #ARGV, 4 do
  local q, r = muldiv(tonumber(ARGV[i]), tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3]))
  out[#out + 1], out[#out + 2] = q, r
end
return out`
	eachStore(t, func(t *testing.T, s *store) {
		rng := rand.New(rand.NewPCG(3, 4))
		// Most draws are near the end of a range, where products are largest.
		draw := func(end int64) int64 { return max(end-1-rng.Int64N(1+rng.Int64N(end)), 0) }
		type division struct{ q, rest int64 }
		var args []any
		var want []division
		for len(want) < 2000 {
			a, b, m := draw(1<<53), draw(1<<45), 1+draw(1<<45-1)
			r := draw(m)
			x := new(big.Int).Mul(big.NewInt(a), big.NewInt(b))
			q, rest := x.Add(x, big.NewInt(r)).QuoRem(x, big.NewInt(m), new(big.Int))
			if q.BitLen() > 53 {
				continue
			}
			args = append(args, a, b, m, r)
			want = append(want, division{q.Int64(), rest.Int64()})
		}
		reply, err := s.client.Eval(context.Background(), script, nil, args...).Int64Slice()
		require.NoError(t, err)
		for i, w := range want {
			require.Equal(t, w, division{reply[2*i], reply[2*i+1]}, "%v", args[4*i:4*i+4])
		}
	})
}
