package ratelimit_test

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
)

// reserving are the algorithms that promise slots, except the sliding window log, which has its own tests.
var reserving = []string{"token_bucket", "leaky_bucket", "fixed_window"}

var cancels = flag.Int("cancels", 150, "how many slots are given back at random by each of the 36 lives of a limit")

// taking is a random history of a limit: its callers give slots back, refund grants, and are held up by the pace.
type taking struct {
	s         *luatest.Store
	rng       *rand.Rand
	algorithm string
	rule      modelRule
	state     string
	now       int64
	n         int
	waiting   []promise // slots to come
	let       []promise // what was let through, and may be refunded
	back      int       // slots that were given back
	credited  int
	refunded  int
}

func (k *taking) step(t *testing.T, pace bool) {
	switch n := k.rng.IntN(20); {
	case n < 9:
		k.charge(t)
	case n < 14 && len(k.waiting) > 0:
		k.leave(t)
	case n < 16 && len(k.let) > 0:
		k.refund(t)
	case n < 17 && pace:
		k.hold(t)
	case n < 18 && len(k.waiting) > 0:
		k.pass(max(k.waiting[k.rng.IntN(len(k.waiting))].slot-k.now, 0))
	default:
		k.pass(k.rng.Int64N(300_000))
	}
}

// pass lets slots come.
func (k *taking) pass(us int64) {
	k.now += us
	k.waiting = slices.DeleteFunc(k.waiting, func(p promise) bool {
		if p.slot > k.now {
			return false
		}
		k.let = append(k.let, p)
		return true
	})
}

func (k *taking) charge(t *testing.T) {
	most := k.rule[0].burst
	for _, b := range k.rule {
		most = min(most, b.burst)
	}
	cost := 1 + k.rng.Int64N(min(most, 3))
	out := ask{algorithm: k.algorithm, rule: k.rule, revision: 1, cost: cost, wait: k.rng.Int64N(20 * luatest.Second)}.run(t, k.s, k.now, k.state)
	p := promise{k.now + out.RetryAfterUS, k.now, cost}
	switch {
	case out.Reserved():
		k.waiting = append(k.waiting, p)
	case out.Admitted():
		k.let = append(k.let, p)
	}
}

// leave gives a slot back. Whether it is credited or not, its call is not admitted.
func (k *taking) leave(t *testing.T) {
	i := k.rng.IntN(len(k.waiting))
	p := k.waiting[i]
	got := luatest.Call(t, k.s, ratelimit.GiveBackScript, k.now, ratelimit.GiveBackIn{
		State: k.state, Pace: k.state + "pace", Algorithm: k.algorithm, Cost: p.cost, SlotUS: p.slot, PromisedUS: p.made,
	})
	require.NotEqual(t, ratelimit.SlotCome, got)
	k.waiting = slices.Delete(k.waiting, i, i+1)
	k.back++
	if got == ratelimit.SlotCredited {
		k.credited++
	}
}

func (k *taking) refund(t *testing.T) {
	i := max(len(k.let)-1-k.rng.IntN(8), 0)
	p := k.let[i]
	k.n++
	got := luatest.Call(t, k.s, ratelimit.RefundScript, k.now, ratelimit.RefundIn{
		State: k.state, Marker: k.s.Key(fmt.Sprint("m", k.n)), Algorithm: k.algorithm, Cost: p.cost, AtUS: p.slot,
	})
	k.s.Del(t, k.s.Key(fmt.Sprint("m", k.n)))
	if got == ratelimit.Refunded {
		k.let = slices.Delete(k.let, i, i+1)
		k.refunded++
	}
}

// hold delays, pauses or frees the key, as the methods about the pace do.
func (k *taking) hold(t *testing.T) {
	pace := k.state + "pace"
	switch k.rng.IntN(4) {
	case 0:
		luatest.Call(t, k.s, ratelimit.PauseScript, k.now, ratelimit.PauseIn{Pace: pace, ForUS: 1 + k.rng.Int64N(3*luatest.Second), LongestUS: 60 * luatest.Second, Channel: "c"})
	case 1:
		luatest.Call(t, k.s, ratelimit.ResumeScript, k.now, ratelimit.ResumeIn{Pace: pace, Channel: "c"})
	default:
		luatest.Call(t, k.s, ratelimit.SetDelayScript, k.now, ratelimit.SetDelayIn{
			Pace: pace, DelayUS: k.rng.Int64N(700_000), TTLUS: 1 + k.rng.Int64N(5*luatest.Second), Source: "robots", Most: 16, Channel: "c",
		})
	}
}

// check adds up the admissions as each band would, and requires that the level never exceeds the band's capacity.
func (k *taking) check(t *testing.T) {
	slices.SortStableFunc(k.let, func(a, b promise) int { return cmp.Compare(a.slot, b.slot) })
	for _, b := range k.rule {
		p, level, last := b.periodMS*1000, int64(0), int64(0)
		for _, g := range k.let {
			if k.algorithm == "fixed_window" {
				if g.slot/p != last/p {
					level = 0
				}
				level, last = level+g.cost, g.slot
				require.LessOrEqual(t, level, b.burst, "%v", b)
				continue
			}
			if last > 0 {
				level = max(0, level-(g.slot-last)*b.limit)
			}
			level, last = level+g.cost*p, g.slot
			require.LessOrEqual(t, level, b.burst*p, "%v", b)
		}
	}
}

var takingRules = map[string]modelRule{
	"one band":  {{limit: 4, periodMS: 1000, burst: 4}},
	"two bands": {{limit: 5, periodMS: 1000, burst: 5}, {limit: 12, periodMS: 10_000, burst: 12}},
	"far apart": {{limit: 50, periodMS: 1000, burst: 3}, {limit: 40, periodMS: 60_000, burst: 6}},
}

// TestNothingTakenBackPassesTheBound: whichever slots are given back and grants are refunded, in any order, no more is
// let through than if they had never been charged.
func TestNothingTakenBackPassesTheBound(t *testing.T) {
	t.Parallel()
	for _, algorithm := range reserving {
		for name, r := range takingRules {
			for _, pace := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %s, pace %t", algorithm, name, pace), func(t *testing.T) {
					t.Parallel()
					luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
						k := &taking{s: s, rng: rand.New(rand.NewPCG(11, uint64(len(name)))), algorithm: algorithm, rule: r, state: s.Key("a"), now: luatest.Epoch}
						most := *cancels
						if s.Name == "embedded" {
							most /= 3
						}
						for k.back < most {
							k.step(t, pace)
						}
						k.pass(1 << 40)
						k.check(t)
						require.Greater(t, k.credited, k.back/20, "many are the last ones")
						require.Greater(t, k.refunded, k.back/100)
					})
				})
			}
		}
	}
}
