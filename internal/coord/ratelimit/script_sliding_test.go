package ratelimit_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
)

const (
	slidingLog     = "sliding_window_log"
	slidingCounter = "sliding_window_counter"
)

// eachSliding runs a test for both sliding windows on each store.
func eachSliding(t *testing.T, test func(t *testing.T, w *slidingWindow)) {
	for _, algorithm := range []string{slidingLog, slidingCounter} {
		t.Run(algorithm, func(t *testing.T) {
			t.Parallel()
			luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
				test(t, &slidingWindow{s: s, algorithm: algorithm, state: s.Key("a"), revision: 1})
			})
		})
	}
}

// slidingWindow is one state, and the rule that it is asked under.
type slidingWindow struct {
	s                *luatest.Store
	algorithm, state string
	rule             modelRule
	revision         int64
	charged          int // so far, for the next id
}

func (w *slidingWindow) ask(t require.TestingT, now int64, a slide) ratelimit.Out {
	w.charged++
	a.rule, a.revision, a.id = w.rule, w.revision, fmt.Sprint("i", w.charged)
	return a.run(t, w.s, w.algorithm, now, w.state)
}

func (w *slidingWindow) charge(t require.TestingT, now, cost int64) ratelimit.Out {
	return w.ask(t, now, slide{ask: ask{cost: cost}})
}

func (w *slidingWindow) peek(t require.TestingT, now, cost int64) ratelimit.Out {
	return w.ask(t, now, slide{ask: ask{cost: cost, peek: true}})
}

// with changes the rule.
func (w *slidingWindow) with(r modelRule) {
	w.rule = r
	w.revision++
}

func TestSleepingRetryAfterOfAWindowAndAskingOnceSucceeds(t *testing.T) {
	t.Parallel()
	eachSliding(t, func(t *testing.T, w *slidingWindow) {
		rng := rand.New(rand.NewPCG(5, 6))
		// Uniform in the exponent, so that small and huge rules are as likely.
		draw := func(most int64) int64 { return 1 + rng.Int64N(1+rng.Int64N(1+rng.Int64N(most))) }
		most := int64(1e9)
		if w.algorithm == slidingLog {
			most = 10_000
		}
		rules, refused := 1000, 0
		if w.s.Name == "embedded" {
			rules = 100 // it takes four times as long for each
		}
		for i := range rules {
			r, least, now := modelRule{}, most, luatest.Epoch
			for range 1 + rng.IntN(3) {
				limit := draw(most)
				r = append(r, slidingRule(limit, draw(366*86_400_000))...)
				least = min(least, limit)
			}
			w.with(r)
			w.state = w.s.Key(fmt.Sprint("r", i))
			for range 6 {
				w.charge(t, now, 1+rng.Int64N(least))
				now += rng.Int64N(r[0].periodMS * 500)
			}
			cost := 1 + rng.Int64N(least)
			if out := w.peek(t, now, cost); !out.Admitted() {
				refused++
				require.False(t, w.charge(t, now+out.RetryAfterUS-1, cost).Admitted(), "%v: earlier than told", r)
				ms := (out.RetryAfterUS + 999) / 1000
				require.True(t, w.peek(t, now+ms*1000, cost).Admitted(), "%v: told in milliseconds", r)
				require.True(t, w.charge(t, now+out.RetryAfterUS, cost).Admitted(), "%v: exactly when told", r)
			}
			w.s.Del(t, w.state)
		}
		require.Greater(t, refused, rules*3/10, "many rules refuse")
	})
}

func TestARefusedWindowLeavesTheKeyAsItWas(t *testing.T) {
	t.Parallel()
	eachSliding(t, func(t *testing.T, w *slidingWindow) {
		w.with(slidingRule(10, 6_000))
		require.True(t, w.charge(t, luatest.Epoch, 8).Admitted())
		before := w.s.Raw(t, w.state)
		for _, cost := range []int64{3, 5, 10, 11} {
			refused := w.charge(t, luatest.Epoch, cost)
			require.False(t, refused.Admitted())
			require.EqualValues(t, 2, refused.Remaining)
			require.Equal(t, cost > 10, refused.RetryAfterUS == -1, "%d can %v fit", cost, cost > 10)
			require.Equal(t, before, w.s.Raw(t, w.state), "refused and not counted")
			require.EqualValues(t, -1, w.s.TTL(w.state))
		}
		require.EqualValues(t, 2, w.peek(t, luatest.Epoch, 2).Remaining, "looking takes nothing")
		w.state = w.s.Key("new")
		require.EqualValues(t, -1, w.charge(t, luatest.Epoch, 11).RetryAfterUS)
		require.Equal(t, "none", w.s.Raw(t, w.state))
	})
}

func TestACounterNearItsLimitRefusesAndDoesNotCount(t *testing.T) {
	t.Parallel()
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		w := &slidingWindow{s: s, algorithm: slidingCounter, state: s.Key("a"), rule: slidingRule(10, 1000), revision: 1}
		require.True(t, w.charge(t, luatest.Epoch, 8).Admitted())
		require.True(t, w.charge(t, luatest.Epoch+luatest.Second+luatest.Second/2, 4).Admitted(), "4 of the 8 are left")
		before := s.Raw(t, w.state)
		for range 3 {
			refused := w.charge(t, luatest.Epoch+luatest.Second+luatest.Second/2, 5)
			require.False(t, refused.Admitted())
			require.EqualValues(t, 8, refused.Current)
			require.Equal(t, before, s.Raw(t, w.state))
		}
		require.True(t, w.charge(t, luatest.Epoch+luatest.Second+luatest.Second/2, 2).Admitted(), "what was refused took nothing")
	})
}

func TestAReloadedWindowTakesEffectAtOnce(t *testing.T) {
	t.Parallel()
	eachSliding(t, func(t *testing.T, w *slidingWindow) {
		w.with(slidingRule(10, 3_600_000))
		require.True(t, w.charge(t, luatest.Epoch, 10).Admitted())
		require.False(t, w.charge(t, luatest.Epoch, 1).Admitted())
		w.with(slidingRule(1000, 1000))
		require.True(t, w.charge(t, luatest.Epoch, 1).Admitted())

		w.state = w.s.Key("lowered")
		w.with(slidingRule(100, 60_000))
		require.True(t, w.charge(t, luatest.Epoch, 80).Admitted())
		w.with(slidingRule(10, 60_000))
		refused := w.charge(t, luatest.Epoch, 1)
		require.False(t, refused.Admitted())
		require.Zero(t, refused.Remaining)
		require.EqualValues(t, 80, refused.Current)
	})
}

func TestAllBandsOfAWindowOrNone(t *testing.T) {
	t.Parallel()
	eachSliding(t, func(t *testing.T, w *slidingWindow) {
		w.with(append(slidingRule(10, 1000), slidingRule(100, 60_000)...))
		now := luatest.Epoch
		for range 10 {
			require.True(t, w.charge(t, now, 10).Admitted())
			now += 2 * luatest.Second
		}
		before := w.s.Raw(t, w.state)
		refused := w.charge(t, now, 1)
		require.False(t, refused.Admitted())
		require.EqualValues(t, 2, refused.Band, "the minute's band is named")
		require.Equal(t, before, w.s.Raw(t, w.state), "the second's band was not charged")
		w.with(slidingRule(10, 1000))
		require.EqualValues(t, 10, w.peek(t, now, 1).Remaining)
	})
}

func TestLongWindowsAreNotForgottenEarly(t *testing.T) {
	t.Parallel()
	eachSliding(t, func(t *testing.T, w *slidingWindow) {
		w.with(slidingRule(700, 7*86_400_000))
		require.True(t, w.charge(t, luatest.Epoch, 700).Admitted())
		require.Greater(t, w.s.TTL(w.state), 7*24*time.Hour)
		require.Zero(t, w.peek(t, luatest.Epoch+25*luatest.Hour, 0).Remaining, "nothing is free before its time")
		w.with(slidingRule(701, 7*86_400_000))
		require.Less(t, w.s.Client.PTTL(context.Background(), w.state).Val(), time.Duration(0), "the key has no TTL")
		require.True(t, w.charge(t, luatest.Epoch+25*luatest.Hour, 1).Admitted())
		require.Greater(t, w.s.TTL(w.state), 5*24*time.Hour, "the next write heals it")
	})
}

func TestAWindowOfAnotherTypeIsAnErrorAndStays(t *testing.T) {
	t.Parallel()
	eachSliding(t, func(t *testing.T, w *slidingWindow) {
		require.NoError(t, w.s.Client.Set(context.Background(), w.state, "v", 0).Err())
		keys, args := lua.InputOf(ratelimit.ChargeScript("token_bucket"), ratelimit.In{State: w.state, Pace: w.s.Key("pace"), Charge: ratelimit.Charge{Cost: 1, Signature: "1/1/1000/1", ID: "i"}})
		_, err := w.s.Eval(ratelimit.ChargeScript(w.algorithm).Source, luatest.Epoch, keys, args, lua.StoredReply{Key: w.s.Key("idem"), Fingerprint: "f"})
		require.ErrorContains(t, err, "WRONGTYPE")
		require.Equal(t, `string "v"`, w.s.Raw(t, w.state))
		require.Equal(t, "none", w.s.Raw(t, w.s.Key("idem")))
	})
}

// slidingTraffic makes calls at random instants of a clock that goes on, and passes each admission, in the order of the
// decisions, to a function. Every tenth step is a function of its caller.
func slidingTraffic(t *testing.T, w *slidingWindow, rng *rand.Rand, wait int64, each func(g passage), own func(now int64)) {
	now := luatest.Epoch + rng.Int64N(luatest.Second)
	for range 400 {
		b := w.rule[rng.IntN(len(w.rule))]
		now += rng.Int64N(1 + b.periodMS*1000/(1+rng.Int64N(20)))
		if rng.IntN(10) == 0 {
			own(now)
			continue
		}
		a := slide{ask: ask{cost: 1 + rng.Int64N(1+rng.Int64N(w.rule[0].limit)), wait: rng.Int64N(1 + wait)}}
		if out := w.ask(t, now, a); out.Admitted() || out.Reserved() {
			each(passage{fmt.Sprint("i", w.charged), now + out.RetryAfterUS, a.cost, out.Reserved()})
		}
	}
}

// fullest returns the most that was let through in any half-open interval of length us.
func fullest(log []passage, us int64) int64 {
	most := int64(0)
	for _, first := range log {
		sum := int64(0)
		for _, g := range log {
			if g.at >= first.at && g.at < first.at+us {
				sum += g.cost
			}
		}
		most = max(most, sum)
	}
	return most
}

var trafficRules = []modelRule{
	slidingRule(3, 5_000),
	slidingRule(40, 1_000),
	append(slidingRule(5, 1_000), slidingRule(12, 7_000)...),
}

func TestNoIntervalOfALogHoldsMoreThanTheLimit(t *testing.T) {
	t.Parallel()
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		for i, r := range trafficRules {
			w := &slidingWindow{s: s, algorithm: slidingLog, state: s.Key(fmt.Sprint("r", i)), rule: r, revision: 1}
			rng := rand.New(rand.NewPCG(7, uint64(i)))
			var log []passage
			slidingTraffic(t, w, rng, 4*luatest.Second, func(g passage) { log = append(log, g) }, func(now int64) {
				if len(log) == 0 {
					return
				}
				k := max(len(log)-1-rng.IntN(4), 0)
				g := log[k]
				var back bool
				if g.slot && g.at > now {
					back, _ = logGivesBack(t, s, now, w.state, g.id)
				} else {
					back, _ = logRefunds(t, s, now, w.state, g.id, g.at)
				}
				if back {
					log = slices.Delete(log, k, k+1)
				}
			})
			for _, b := range r {
				require.LessOrEqual(t, fullest(log, b.periodMS*1000), b.limit, "%v", b)
			}
			require.Equal(t, r[0].limit, fullest(log, r[0].periodMS*1000), "and the limit is reached")
		}
	})
}

func TestNoCallOvertakesAPromisedEntry(t *testing.T) {
	t.Parallel()
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		for i, r := range trafficRules {
			w := &slidingWindow{s: s, algorithm: slidingLog, state: s.Key(fmt.Sprint("r", i)), rule: r, revision: 1}
			last, promised := int64(0), 0
			slidingTraffic(t, w, rand.New(rand.NewPCG(8, uint64(i))), 4*luatest.Second, func(g passage) {
				require.GreaterOrEqual(t, g.at, last, "it is let through before who asked first")
				last = g.at
				if g.slot {
					promised++
				}
			}, func(int64) {})
			require.Greater(t, promised, 10)
		}
	})
}

// TestACounterAdmitsWithinItsBound: an interval of one period that begins x into a
// window has at most limit + limit * (x - 1) / period, so less than twice the limit.
func TestACounterAdmitsWithinItsBound(t *testing.T) {
	t.Parallel()
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		for i, r := range trafficRules {
			w := &slidingWindow{s: s, algorithm: slidingCounter, state: s.Key(fmt.Sprint("r", i)), rule: r, revision: 1}
			rng := rand.New(rand.NewPCG(9, uint64(i)))
			var log []passage
			slidingTraffic(t, w, rng, 0, func(g passage) { log = append(log, g) }, func(now int64) {
				if k := len(log) - 1; k >= 0 {
					if back, _ := counterCredits(t, s, now, w.state, log[k].cost, log[k].at); back {
						log = log[:k]
					}
				}
			})
			for _, b := range r {
				us := b.periodMS * 1000
				for _, first := range log {
					// The latest interval with it; and that which begins with its window.
					for _, from := range []int64{first.at, first.at - first.at%us} {
						sum := int64(0)
						for _, g := range log {
							if g.at >= from && g.at < from+us {
								sum += g.cost
							}
						}
						require.LessOrEqual(t, sum, b.limit+b.limit*max(from%us-1, 0)/us, "%v", b)
					}
				}
			}
		}
		// The most there can be.
		w := &slidingWindow{s: s, algorithm: slidingCounter, state: s.Key("most"), rule: slidingRule(10, 1000), revision: 1}
		require.True(t, w.charge(t, luatest.Epoch+luatest.Second-1, 10).Admitted())
		require.False(t, w.charge(t, luatest.Epoch+2*luatest.Second-2, 10).Admitted())
		require.True(t, w.charge(t, luatest.Epoch+2*luatest.Second-2, 9).Admitted(), "19 within a second")
	})
}

func TestARefundedEntryDoesNotCreditTwice(t *testing.T) {
	t.Parallel()
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		w := &slidingWindow{s: s, algorithm: slidingLog, state: s.Key("a"), rule: slidingRule(10, 1000), revision: 1}
		for i, cost := range []int64{4, 3, 2, 1} { // i1 to i4
			require.True(t, w.charge(t, luatest.Epoch+int64(i)*luatest.Second/10, cost).Admitted())
		}
		back, _ := logRefunds(t, s, luatest.Epoch+luatest.Second/2, w.state, "i2", luatest.Epoch+luatest.Second/10)
		require.True(t, back)
		require.EqualValues(t, 3, w.peek(t, luatest.Epoch+luatest.Second/2, 0).Remaining)
		before := s.Raw(t, w.state)
		back, _ = logRefunds(t, s, luatest.Epoch+luatest.Second/2, w.state, "i2", luatest.Epoch+luatest.Second/10)
		require.False(t, back, "it was before")
		require.Equal(t, before, s.Raw(t, w.state))
		require.EqualValues(t, 7, w.peek(t, luatest.Epoch+luatest.Second, 0).Remaining, "i1 has gone, and i3 and i4 are what counts")
		require.EqualValues(t, 7, w.peek(t, luatest.Epoch+luatest.Second+luatest.Second/10, 0).Remaining, "i2 does not go again")
		require.EqualValues(t, 9, w.peek(t, luatest.Epoch+luatest.Second+luatest.Second/5, 0).Remaining)
		back, _ = logRefunds(t, s, luatest.Epoch+2*luatest.Second, w.state, "i3", luatest.Epoch+luatest.Second/5)
		require.False(t, back, "it counts no more")
		require.Equal(t, before, s.Raw(t, w.state))
		require.EqualValues(t, 10, w.peek(t, luatest.Epoch+2*luatest.Second, 0).Remaining, "never more than the limit")
	})
}

// fill writes entries of cost 1 as the script would, one each millisecond.
func fill(t *testing.T, w *slidingWindow, from int64, n int) {
	ctx := context.Background()
	rule := fmt.Sprintf("rule:%d:%s", w.revision, signature(w.rule.bands()))
	require.NoError(t, w.s.Client.ZAdd(ctx, w.state, redis.Z{Score: -1, Member: rule}).Err())
	members := make([]redis.Z, n)
	for i := range members {
		members[i] = redis.Z{Score: float64(from + int64(i)*1000), Member: fmt.Sprintf("%016d:1:f%d", i+1, i+1)}
	}
	for part := range slices.Chunk(members, 1000) {
		require.NoError(t, w.s.Client.ZAdd(ctx, w.state, part...).Err())
	}
}

func TestManyExpiredEntriesAreCleaned(t *testing.T) {
	t.Parallel()
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		const n = 20_000
		w := &slidingWindow{s: s, algorithm: slidingLog, state: s.Key("a"), rule: slidingRule(10_000, 1000), revision: 1}
		fill(t, w, luatest.Epoch, n)
		now := luatest.Epoch + 60*luatest.Second
		require.EqualValues(t, 10_000, w.peek(t, now, 0).Remaining, "none of them counts")
		for i := range int64(25) {
			out := w.charge(t, now, 1)
			require.True(t, out.Admitted())
			require.Equal(t, i+1, out.Current)
			left := s.Client.ZCard(context.Background(), w.state).Val()
			require.Equal(t, max(n-1000*(i+1), 0)+i+2, left, "1,000 in one run, and beside them the rule and what was charged")
		}
		back, _ := logRefunds(t, s, now, w.state, "i2", now)
		require.True(t, back)
	})
}

func TestARefundOfALogMovesABoundedNumberOfEntries(t *testing.T) {
	t.Parallel()
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		const n = 1005
		w := &slidingWindow{s: s, algorithm: slidingLog, state: s.Key("a"), rule: slidingRule(10_000, 60_000), revision: 1}
		fill(t, w, luatest.Epoch, n)
		now, at := luatest.Epoch+10*luatest.Second, func(i int64) int64 { return luatest.Epoch + (i-1)*1000 }
		before := s.Raw(t, w.state)
		back, _ := logRefunds(t, s, now, w.state, "f4", at(4))
		require.False(t, back, "1,001 are later")
		require.Equal(t, before, s.Raw(t, w.state))
		back, _ = logRefunds(t, s, now, w.state, "f5", at(5))
		require.True(t, back, "1,000 are later")
		require.EqualValues(t, 10_000-n+1, w.peek(t, now, 0).Remaining)
		require.EqualValues(t, n, s.Client.ZCard(context.Background(), w.state).Val(), "the rule and what is left")
		// The totals are those of the entries that are left.
		first := w.peek(t, at(1)+60*luatest.Second, 0)
		require.EqualValues(t, n-2, first.Current)
		require.EqualValues(t, 1, w.peek(t, at(n-1)+60*luatest.Second, 0).Current)
		require.Zero(t, w.peek(t, at(n)+60*luatest.Second, 0).Current)
	})
}
