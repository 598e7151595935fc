package ratelimit_test

import (
	"fmt"
	"sync"
	"sync/atomic"
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
)

// leasedRule is a rule in mode leased, whose blocks live for a second.
func leasedRule(name string, bands ...api.Band) api.Rule {
	r := rule(name, bands...)
	r.Mode = "leased"
	return r
}

// daily is a band that refills so slowly that nothing refills within a test: its usage is exactly what was let through
// plus what is held in blocks.
var daily = band(1000, 24*time.Hour)

// holder is one sidecar with the rule r in mode leased, whose calls are counted.
type holder struct {
	t     *testing.T
	clock *conformance.Clock
	pod   *coordtest.Sidecar
	let   int64 // tokens that were let through
}

func newHolder(t *testing.T, url string, r api.Rule) *holder {
	t.Helper()
	clock := conformance.NewClock()
	h := &holder{t: t, clock: clock}
	h.pod = coordtest.NewWith(t, luatest.Open(t, lua.Options{URL: url, Clock: clock.Micros}), redistest.Prefix(t), coordtest.Options{Clock: clock, Deaf: true})
	require.NoError(t, h.pod.Rules.Set([]api.Rule{r}, 1))
	return h
}

func (h *holder) take(cost int64) api.RatelimitResult {
	h.t.Helper()
	d := acquire(h.t, h.pod.Limiter, asks(byRule("r", "k"), cost))
	if d.Allowed {
		h.let += cost
	}
	return d
}

// warm calls 100 times a second until the demand is known, and a block is held.
func (h *holder) warm() api.RatelimitResult {
	h.t.Helper()
	for range 300 {
		h.clock.Advance(10 * time.Millisecond)
		if d := h.take(1); d.Source == coord.SourceLease && h.held() > 10 {
			return d
		}
	}
	require.FailNow(h.t, "no block was charged")
	return api.RatelimitResult{}
}

func (h *holder) explained() api.RatelimitExplainResult {
	h.t.Helper()
	e, err := h.pod.Limiter.Explain(h.t.Context(), coord.Caller{}, explain(byRule("r", "k")))
	require.NoError(h.t, err)
	return e
}

// held is what the sidecar has charged ahead.
func (h *holder) held() int64 {
	if b := h.explained().Block; b != nil {
		return b.Tokens
	}
	return 0
}

// returned waits until no block is being returned, and requires that everything that was not let through is free again.
func (h *holder) returned(why string) {
	h.t.Helper()
	require.NoError(h.t, h.pod.Limiter.Settled(h.t.Context()))
	e := h.explained()
	require.Nil(h.t, e.Block, why)
	require.GreaterOrEqual(h.t, e.Bands[0].Current, h.let, why)
	// Of each block that a bucket takes back the refill since its charge is rounded up.
	require.LessOrEqual(h.t, e.Bands[0].Current, h.let+2, why)
}

func everyLeased(t *testing.T, test func(t *testing.T, algorithm string)) {
	t.Parallel()
	for _, algorithm := range []string{tokenBucket, "fixed_window"} {
		t.Run(algorithm, func(t *testing.T) {
			t.Parallel()
			test(t, algorithm)
		})
	}
}

func TestABlockServesCallsFromMemory(t *testing.T) {
	everyLeased(t, func(t *testing.T, algorithm string) {
		r := leasedRule("r", daily)
		r.Algorithm = algorithm
		h := newHolder(t, redistest.URL(t), r)
		first := h.take(1)
		require.Equal(t, coord.SourceRedis, first.Source)
		require.NotEmpty(t, first.Grant)
		require.Nil(t, h.explained().Block, "an idle key costs one token")
		d := h.warm()
		left := h.held()
		require.Equal(t, h.let+left, h.explained().Bands[0].Current, "what is held counts as used")
		require.Equal(t, api.RatelimitResult{
			Allowed: true, Rule: "r", Algorithm: algorithm, Band: "1000/1d", Limit: 1000,
			Remaining: 1000 - h.let, Current: h.let, ResetAfterMS: d.ResetAfterMS, ResetAtMS: d.ResetAtMS, Source: coord.SourceLease,
		}, d)
		require.Positive(t, d.ResetAfterMS)
		next := h.take(1)
		require.Equal(t, coord.SourceLease, next.Source)
		require.Equal(t, d.Remaining-1, next.Remaining)
		require.Equal(t, left-1, h.held())

		exact := h.take(101)
		require.Equal(t, coord.SourceRedis, exact.Source, "more than a block may be")
		peek, err := h.pod.Limiter.Peek(t.Context(), coord.Caller{}, asks(byRule("r", "k"), 1))
		require.NoError(t, err)
		require.Equal(t, coord.SourceRedis, peek.Source)
		waited, err := h.pod.Limiter.Acquire(t.Context(), coord.Caller{}, waits(byRule("r", "k"), 1, time.Second))
		require.NoError(t, err)
		h.let++
		require.Equal(t, coord.SourceRedis, waited.Source, "a call that may wait has its turn among those of all sidecars")
		require.Equal(t, left-1, h.held())
	})
}

// A block is as large as the demand during the last lease, and never larger than the share.
func TestABlockGrowsWithTheDemandUpToItsShare(t *testing.T) {
	t.Parallel()
	r := leasedRule("r", band(1_000_000, 24*time.Hour))
	r.Lease = &api.RuleLease{MaxSharePercent: 1}
	h := newHolder(t, redistest.URL(t), r)
	most := int64(0)
	for i := range 400 {
		h.clock.Advance(5 * time.Millisecond)
		h.take(1)
		if i%20 == 0 {
			most = max(most, h.held())
		}
	}
	require.Greater(t, most, int64(100), "200 a second")
	require.LessOrEqual(t, most, int64(230), "and what it is likely to vary by")
	most = 0
	for i := range 4000 {
		h.clock.Advance(time.Millisecond)
		h.take(100)
		if i%10 == 0 {
			most = max(most, h.held())
		}
	}
	require.LessOrEqual(t, most, int64(10_000))
	require.Greater(t, most, int64(5000))
}

func TestAnIdleKeyGivesItsBlockBack(t *testing.T) {
	everyLeased(t, func(t *testing.T, algorithm string) {
		r := leasedRule("r", daily)
		r.Algorithm = algorithm
		h := newHolder(t, redistest.URL(t), r)
		h.warm()
		h.clock.Advance(500 * time.Millisecond)
		h.returned("half a lease without a call")
		h.clock.Advance(3 * time.Second)
		require.Zero(t, h.pod.Limiter.Blocks(), "nothing is known of a key that stays idle")
	})
}

// What a block has left when its time is up goes back with the next charge.
func TestUnusedTokensGoBackWithTheNextCharge(t *testing.T) {
	t.Parallel()
	r := leasedRule("r", daily)
	r.Algorithm = "fixed_window" // which credits a block exactly
	h := newHolder(t, redistest.URL(t), r)
	h.warm()
	for i := range 60 {
		h.clock.Advance(100 * time.Millisecond) // fewer calls than the block was for
		h.take(1)
		require.Equal(t, h.let+h.held()+h.pod.Limiter.Unreturned(), h.explained().Bands[0].Current, "call %d", i)
	}
	h.clock.Advance(time.Second)
	h.returned("idle then")
}

// A charge whose reply is lost may have returned the tokens that it carried. They are not
// returned again: the second credit would be of tokens that others used.
func TestTokensThatALostChargeReturnedAreNotReturnedAgain(t *testing.T) {
	t.Parallel()
	r := leasedRule("r", daily)
	r.Algorithm = "fixed_window" // which credits a block exactly
	p := luatest.StartProxy(t, redistest.URL(t))
	h := newHolder(t, p.URL, r)
	require.NoError(t, luatest.UntilUp(t, h.pod.Runner))
	h.warm()
	used := func() int64 { return h.explained().Bands[0].Current }
	for range 2 { // a key that is idle for half a lease would return them on its own
		h.clock.Advance(400 * time.Millisecond)
		require.Equal(t, coord.SourceLease, h.take(1).Source)
	}
	before, unused := used(), h.held()
	require.Positive(t, unused)
	h.clock.Advance(200 * time.Millisecond) // the block is over
	p.Lose(luatest.Plan{})
	lost := h.take(1)
	require.True(t, lost.Degraded && lost.MaybeExecuted, "%+v", lost)
	after := used()
	require.LessOrEqual(t, after, before, "the charge returned the %d tokens that it carried", unused)
	h.clock.Advance(10 * time.Millisecond)
	h.take(1)
	require.Equal(t, after+1+h.held(), used())
}

// slowed is a holder whose next script is answered late.
func slowed(t *testing.T, r api.Rule) (h *holder, slow func(time.Duration)) {
	h = &holder{t: t, clock: conformance.NewClock()}
	var late atomic.Int64
	runner := luatest.Open(t, lua.Options{URL: redistest.URL(t), Clock: func() int64 {
		now := h.clock.Micros()
		h.clock.Advance(time.Duration(late.Swap(0)))
		return now
	}})
	h.pod = coordtest.NewWith(t, runner, redistest.Prefix(t), coordtest.Options{Clock: h.clock, Deaf: true})
	require.NoError(t, h.pod.Rules.Set([]api.Rule{r}, 1))
	return h, func(d time.Duration) { late.Store(int64(d)) }
}

// The time of a block counts from when its charge was sent: 1 s less 1 % and 2 ms.
func TestABlockEndsWithItsLeaseCountedFromTheSending(t *testing.T) {
	everyLeased(t, func(t *testing.T, algorithm string) {
		r := leasedRule("r", daily)
		r.Algorithm = algorithm
		h, slow := slowed(t, r)
		h.warm()
		slow(600 * time.Millisecond)
		for h.take(1).Source == coord.SourceLease { // until a call charges
		}
		left := h.held()
		require.Greater(t, left, int64(4))
		h.clock.Advance(387 * time.Millisecond)
		require.Equal(t, coord.SourceLease, h.take(1).Source)
		h.clock.Advance(time.Millisecond)
		require.Zero(t, h.held(), "its time is up")
		require.Equal(t, coord.SourceRedis, h.take(1).Source)
	})
}

// Events that drop a block also drop a block whose charge has not been answered yet, since it may have been charged
// before.
func TestABlockThatIsChargedAsItsKeyIsDroppedIsGivenBack(t *testing.T) {
	t.Parallel()
	h := &holder{t: t, clock: conformance.NewClock()}
	var drop atomic.Pointer[func()]
	runner := luatest.Open(t, lua.Options{URL: redistest.URL(t), Clock: func() int64 {
		if f := drop.Swap(nil); f != nil {
			(*f)()
		}
		return h.clock.Micros()
	}})
	h.pod = coordtest.NewWith(t, runner, redistest.Prefix(t), coordtest.Options{Clock: h.clock, Deaf: true})
	r := leasedRule("r", daily)
	require.NoError(t, h.pod.Rules.Set([]api.Rule{r}, 1))
	h.warm()
	require.NoError(t, h.pod.Limiter.Settled(t.Context()))
	change := func() { require.NoError(t, h.pod.Rules.Set([]api.Rule{r}, 2)) }
	drop.Store(&change)
	for h.take(1).Source == coord.SourceLease { // until a call charges
	}
	h.returned("of a rule that was changed meanwhile")
}

func TestABlockOfAFixedWindowEndsWithIt(t *testing.T) {
	t.Parallel()
	r := leasedRule("r", band(1000, 10*time.Second))
	r.Algorithm = "fixed_window"
	h := newHolder(t, redistest.URL(t), r)
	begin := h.clock.Now().Truncate(10 * time.Second).Add(10 * time.Second)
	h.clock.Advance(begin.Sub(h.clock.Now()) + 9*time.Second)
	for h.clock.Now().Before(begin.Add(9900 * time.Millisecond)) {
		h.clock.Advance(5 * time.Millisecond)
		h.take(1)
	}
	for h.held() == 0 {
		h.clock.Advance(time.Millisecond)
		h.take(1)
	}
	h.clock.Advance(begin.Add(10 * time.Second).Sub(h.clock.Now()))
	require.Zero(t, h.held())
	d := h.take(1)
	require.Equal(t, coord.SourceRedis, d.Source)
	require.LessOrEqual(t, d.Current, 1+h.held(), "nothing of the window before counts in this one")
}

func TestAChangeOfAKeyEndsItsBlock(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		happen func(t *testing.T, h *holder)
		why    string // the next call is refused
	}{
		"a pause": {func(t *testing.T, h *holder) {
			_, err := h.pod.Limiter.Pause(t.Context(), coord.Caller{}, &api.RatelimitPauseParams{Rule: "r", Key: "k", ForMS: 5000})
			require.NoError(t, err)
		}, ratelimit.ReasonPause},
		"a penalty": {func(t *testing.T, h *holder) {
			_, err := h.pod.Limiter.Report(t.Context(), coord.Caller{}, &api.RatelimitReportParams{Rule: "r", Key: "k", Status: 429, RetryAfterMS: 5000})
			require.NoError(t, err)
		}, ratelimit.ReasonPause},
		"a delay": {func(t *testing.T, h *holder) {
			_, err := h.pod.Limiter.SetDelay(t.Context(), coord.Caller{}, &api.RatelimitSetDelayParams{Rule: "r", Key: "k", DelayMS: 5000, TTLMS: 60_000, Source: "robots"})
			require.NoError(t, err)
			require.Equal(t, coord.SourceRedis, h.take(1).Source)
		}, ratelimit.ReasonDelay},
		"a reset": {func(t *testing.T, h *holder) {
			_, err := h.pod.Limiter.Reset(t.Context(), coord.Caller{}, reset(byRule("r", "k")))
			require.NoError(t, err)
			h.let = 0
		}, ""},
		"a resume": {func(t *testing.T, h *holder) {
			_, err := h.pod.Limiter.Resume(t.Context(), coord.Caller{}, &api.RatelimitResumeParams{Rule: "r", Key: "k"})
			require.NoError(t, err)
		}, ""},
		"a changed rule": {func(t *testing.T, h *holder) {
			require.NoError(t, h.pod.Rules.Set([]api.Rule{leasedRule("r", band(2000, 24*time.Hour))}, 2))
		}, ""},
		"a rule that is gone": {func(t *testing.T, h *holder) {
			require.NoError(t, h.pod.Rules.Set(nil, 2))
			require.NoError(t, h.pod.Limiter.Settled(t.Context()))
			require.NoError(t, h.pod.Rules.Set([]api.Rule{rule("r", daily)}, 3))
		}, ""},
		"draining": {func(_ *testing.T, h *holder) { h.pod.Limiter.Drain() }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHolder(t, redistest.URL(t), leasedRule("r", daily))
			h.warm()
			c.happen(t, h)
			h.returned("nothing is held, and nothing is lost")
			d := h.take(1)
			require.Equal(t, c.why == "", d.Allowed)
			require.Equal(t, c.why, d.DeniedBy)
			require.NotEqual(t, coord.SourceLease, d.Source)
			h.returned("nor is it after the next call")
		})
	}
}

// A pause whose broadcast is lost takes effect when the block ends.
func TestAPauseWithoutABroadcastActsWithinTheLease(t *testing.T) {
	t.Parallel()
	f := newFleet(t, redistest.URL(t), 2, byRule("r", "k"))
	for _, p := range f.pods {
		require.NoError(t, p.Rules.Set([]api.Rule{leasedRule("r", daily)}, 1))
	}
	h := &holder{t: t, clock: f.clock.Clock, pod: f.pods[0]}
	h.warm()
	_, err := f.pods[1].Limiter.Pause(t.Context(), coord.Caller{}, &api.RatelimitPauseParams{Rule: "r", Key: "k", ForMS: 60_000})
	require.NoError(t, err)
	require.Equal(t, coord.SourceLease, h.take(1).Source)
	began := f.clock.Now()
	for h.take(1).Allowed {
		f.clock.Advance(10 * time.Millisecond)
	}
	require.LessOrEqual(t, f.clock.Now().Sub(began), time.Second)
	h.returned("who is told of a pause gives back what is left")
}

func TestAPauseOfAnotherSidecarEndsABlockAtOnce(t *testing.T) {
	t.Parallel()
	sys := coordtest.NewSystem(t, redistest.URL(t))
	for _, s := range sys.Sidecars {
		require.NoError(t, s.Rules.Set([]api.Rule{leasedRule("r", daily)}, 1))
	}
	h := &holder{t: t, clock: sys.Clock, pod: sys.Sidecars[0]}
	h.warm()
	_, err := sys.Sidecars[1].Limiter.Pause(t.Context(), coord.Caller{}, &api.RatelimitPauseParams{Rule: "r", Key: "k", ForMS: 60_000})
	require.NoError(t, err)
	// The clock stands still: the block does not end by itself. One of before the sidecar has
	// subscribed is dropped when it has.
	require.Eventually(t, func() bool { return h.pod.Limiter.Blocks() == 0 }, 30*time.Second, time.Millisecond, "it was never told")
	h.returned("a pause loses nothing")
	require.False(t, h.take(1).Allowed)
}

// Calls for a key that is used up are served from what was charged ahead, and no more are admitted.
func TestAUsedUpLimitServesWhatIsHeldAndNoMore(t *testing.T) {
	everyLeased(t, func(t *testing.T, algorithm string) {
		r := leasedRule("r", daily)
		r.Algorithm = algorithm
		h := newHolder(t, redistest.URL(t), r)
		h.warm()
		rest := 1000 - h.explained().Bands[0].Current
		for rest > 0 {
			n := min(rest, 100)
			d := acquire(t, h.pod.Limiter, waits(byRule("r", "k"), n, time.Millisecond)) // not from the block
			require.True(t, d.Allowed)
			h.let += n
			rest -= n
		}
		left := h.held()
		require.Positive(t, left)
		for range left {
			require.True(t, h.take(1).Allowed)
		}
		d := h.take(1)
		require.False(t, d.Allowed)
		require.Equal(t, ratelimit.ReasonLimit, d.DeniedBy)
		require.EqualValues(t, 1000, h.let)
	})
}

// While Redis is away a block is served to its end; then the fail mode decides.
func TestABlockIsServedWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := leasedRule("r", daily)
	r.FailMode = string(coord.FailClosed)
	h := newHolder(t, server.URL(), r)
	h.warm()
	left := h.held()
	server.Stop()
	for range left {
		require.Equal(t, coord.SourceLease, h.take(1).Source)
	}
	d, err := h.pod.Limiter.Acquire(t.Context(), coord.Caller{}, by(coord.FailOpen, byRule("r", "k"), 1))
	require.NoError(t, err)
	require.True(t, d.Degraded)
}

// The block of a sidecar that was killed lapses: it refills as if it had been used.
func TestTokensThatAKilledSidecarHeldRefill(t *testing.T) {
	t.Parallel()
	fleet := newMortals(t, 2, leasedRule("r", band(1000, 10*time.Second)))
	h := &holder{t: t, clock: fleet.clock, pod: &coordtest.Sidecar{Limiter: fleet.pods[0].Limiter}}
	h.warm()
	require.Positive(t, h.held())
	fleet.pods[0].kill(t)
	fleet.pass(10 * time.Second)
	d, err := fleet.pods[1].Peek(t.Context(), coord.Caller{}, asks(byRule("r", "k"), 1))
	require.NoError(t, err)
	require.EqualValues(t, 1000, d.Remaining)
}

func TestAnAnswerFromABlockAllocatesNothing(t *testing.T) {
	s := coordtest.New(t, luatest.Open(t, lua.Options{URL: redis.Embedded}), "p")
	long := leasedRule("r", band(1_000_000_000, 24*time.Hour))
	long.Lease = &api.RuleLease{TTLMS: 60_000}
	require.NoError(t, s.Rules.Set([]api.Rule{long}, 1))
	p := asks(byRule("r", "k"), 1)
	ctx, block := t.Context(), false
	for i := 0; i < 2000 || !block; i++ {
		block = acquire(t, s.Limiter, p).Source == coord.SourceLease
	}
	from := 0
	allocs := testing.AllocsPerRun(100, func() {
		d, err := s.Limiter.Acquire(ctx, coord.Caller{}, p)
		if err == nil && d.Source == coord.SourceLease {
			from++
		}
	})
	require.Equal(t, 101, from, "the block is too small for all of them")
	require.Zero(t, allocs)
}

// The goroutine that reads a connection answers from a block. A prepared call that would charge the next block no
// longer does when it leaves the direct path, and another call charges it.
func TestTheDirectPathAnswersFromABlock(t *testing.T) {
	t.Parallel()
	h := newHolder(t, redistest.URL(t), leasedRule("r", daily))
	prepare := func() (coord.DirectInvocation, coord.Prepared) {
		for _, m := range h.pod.Limiter.Methods() {
			if m.Name != api.RatelimitAcquire.Name {
				continue
			}
			i := m.New().(coord.DirectInvocation)
			*i.Params().(*api.RatelimitParams) = *asks(byRule("r", "k"), 1)
			p, err := i.Prepare(coord.Caller{})
			require.NoError(t, err)
			return i, p
		}
		require.FailNow(t, "there is no such method")
		return nil, coord.Elsewhere
	}
	h.warm()
	i, p := prepare()
	require.Equal(t, coord.Known, p)
	require.Equal(t, coord.SourceLease, i.Result().(*api.RatelimitResult).Source)
	for p == coord.Known {
		i, p = prepare()
	}
	require.Equal(t, coord.Asking, p)
	for h.take(1).Source == coord.SourceLease { // what is left meanwhile
	}
	h.take(1)
	require.Zero(t, h.held(), "one charges at a time")
	i.Forget()
	h.clock.Advance(10 * time.Millisecond)
	h.take(1)
	require.Positive(t, h.held(), "the one that was prepared does not charge any more")
}

// Many callers at once are let through as often as was charged for them.
func TestABlockServesEachOfItsTokensOnce(t *testing.T) {
	everyLeased(t, func(t *testing.T, algorithm string) {
		s := coordtest.New(t, luatest.Open(t, lua.Options{URL: redistest.URL(t)}), redistest.Prefix(t))
		r := leasedRule("r", band(20_000, 24*time.Hour))
		r.Algorithm = algorithm
		require.NoError(t, s.Rules.Set([]api.Rule{r}, 1))
		var let, leased atomic.Int64
		var callers sync.WaitGroup
		for range 16 {
			callers.Go(func() {
				for {
					d, err := s.Limiter.Acquire(t.Context(), coord.Caller{}, by(coord.FailClosed, byRule("r", "k"), 1))
					if err != nil {
						t.Error(err)
						return
					}
					if !d.Allowed {
						return
					}
					let.Add(1)
					if d.Source == coord.SourceLease {
						leased.Add(1)
					}
				}
			})
		}
		callers.Wait()
		require.NoError(t, s.Limiter.Stop(t.Context()))
		d, err := s.Limiter.Peek(t.Context(), coord.Caller{}, asks(byRule("r", "k"), 1))
		require.NoError(t, err)
		require.LessOrEqual(t, let.Load(), d.Current)
		require.LessOrEqual(t, let.Load(), int64(20_000))
		require.Greater(t, let.Load(), int64(10_000), "all but what lapsed on a slow machine")
		require.Greater(t, leased.Load(), let.Load()/2)
	})
}

func TestMistakesOfModeLeasedNameTheirRemedy(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*api.Rule){
		`items[0].mode: "lazy" is neither exact nor leased; write one of them`: func(r *api.Rule) { r.Mode = "lazy" },
		`items[0].mode: a leaky_bucket cannot be leased, since what is charged ahead loses its instants; use token_bucket or fixed_window, or leave mode out`: func(r *api.Rule) {
			r.Algorithm = "leaky_bucket"
		},
		`items[0].mode: leased cannot be combined with max_concurrent, since each permit is taken in Redis; leave one of the two out`: func(r *api.Rule) { r.MaxConcurrent = 1 },
		`items[0].overrides[0].max_concurrent: cannot be given in mode leased, since each permit is taken in Redis; leave one of the two out`: func(r *api.Rule) {
			r.Overrides = []api.Override{{Exact: "a", MaxConcurrent: 1}}
		},
		`items[0].lease.max_share_percent: 101 is out of range; use 1 to 100, or leave it out`: func(r *api.Rule) { r.Lease = &api.RuleLease{MaxSharePercent: 101} },
		`items[0].lease.ttl_ms: 9 is out of range; use 10 to 60000, or leave it out`:           func(r *api.Rule) { r.Lease = &api.RuleLease{TTLMS: 9} },
		`items[0].lease.ttl_ms: 60001 is out of range; use 10 to 60000, or leave it out`:       func(r *api.Rule) { r.Lease = &api.RuleLease{TTLMS: 60_001} },
		`items[0].lease: says how much is charged ahead, which only mode: leased does; add that, or remove it`: func(r *api.Rule) {
			r.Mode, r.Lease = "", &api.RuleLease{TTLMS: 100}
		},
		`items[0].limits[0].limit: in mode leased a sidecar may hold 1 of 10, by lease.max_share_percent 10 and the burst, which saves nothing; raise one of them, or leave mode out`: func(r *api.Rule) {
			r.Limits[0].Limit = 10
		},
		`items[0].limits[0].limit: in mode leased a sidecar may hold 1 of 80, by lease.max_share_percent 10 and the burst, which saves nothing; raise one of them, or leave mode out`: func(r *api.Rule) {
			r.Limits[0].Burst = 1
		},
		`items[0].limits[0].period_ms: 9 are too few for mode leased, where a block ends with its window; use at least 10, or leave mode out`: func(r *api.Rule) {
			r.Algorithm, r.Limits[0].PeriodMS = "fixed_window", 9
		},
	} {
		r := leasedRule("a", band(80, 10*time.Minute))
		change(&r)
		problems := ratelimit.CheckRules([]api.Rule{r})
		require.Len(t, problems, 1, "%v", problems)
		require.Equal(t, want, problems.Error())
	}
	ok := leasedRule("a", band(80, 10*time.Minute), band(0, time.Hour))
	ok.Overrides = []api.Override{{Exact: "slow", Limits: []api.Band{band(1, time.Minute)}}}
	require.Empty(t, ratelimit.CheckRules([]api.Rule{ok}), "a key that an override keeps low is decided exactly")
	off := rule("a", band(80, 10*time.Minute))
	off.Mode, off.Lease, off.MaxConcurrent = "exact", &api.RuleLease{TTLMS: 100}, 3
	require.Empty(t, ratelimit.CheckRules([]api.Rule{off}), "the mode of a rule can be switched alone")
}

func TestModeAndLeaseAsByDefaultAreLeftOut(t *testing.T) {
	t.Parallel()
	plain := rule("a", band(80, time.Minute))
	exact := plain
	exact.Mode, exact.Lease = "exact", &api.RuleLease{MaxSharePercent: 20}
	require.Equal(t, ratelimit.PlainRule(plain), ratelimit.PlainRule(exact))
	leased := leasedRule("a", band(80, time.Minute))
	leased.Lease = &api.RuleLease{MaxSharePercent: 10, TTLMS: 1000}
	require.Equal(t, ratelimit.PlainRule(leasedRule("a", band(80, time.Minute))), ratelimit.PlainRule(leased))
	leased.Lease.TTLMS = 500
	require.Equal(t, &api.RuleLease{TTLMS: 500}, ratelimit.PlainRule(leased).Lease)
	text, err := ratelimit.TextOf(leased)
	require.NoError(t, err)
	require.Equal(t, `{"name":"a","algorithm":"token_bucket","limits":[{"limit":80,"period_ms":60000}],"mode":"leased","lease":{"max_share_percent":10,"ttl_ms":500}}`, text)
	leased.Lease = &api.RuleLease{}
	text, err = ratelimit.TextOf(leased)
	require.NoError(t, err)
	require.NotContains(t, text, `"lease"`, "one that says nothing is none")
	require.Contains(t, text, fmt.Sprintf("%q", "leased"))
}
