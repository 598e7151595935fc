package ratelimit_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
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

// signalling is a clock that signals each timer that is set, which means that a call went to sleep.
type signalling struct {
	*conformance.Clock
	set chan struct{}
}

func (c *signalling) AfterFunc(d time.Duration, f func()) func() bool {
	stop := c.Clock.AfterFunc(d, f)
	select {
	case c.set <- struct{}{}:
	default:
	}
	return stop
}

// answer is the answer of a waiting call, and when it came.
type answer struct {
	d   api.RatelimitResult
	err error
	at  time.Time
}

// waiter is a call that may wait.
type waiter struct {
	pod    int
	id     string
	cost   int64
	cancel context.CancelFunc
	done   chan answer
}

// fleet are sidecars that share a bucket and a clock; one thing happens at a time.
type fleet struct {
	t     *testing.T
	clock *signalling
	pods  []*coordtest.Sidecar
	ref   api.RatelimitParams
}

func newFleet(t *testing.T, url string, pods int, ref api.RatelimitParams) *fleet {
	f := &fleet{t: t, clock: &signalling{conformance.NewClock(), make(chan struct{}, 1)}, ref: ref}
	prefix := redistest.Prefix(t)
	var r *lua.Runner
	for range pods {
		if r == nil || url != redis.Embedded {
			r = luatest.Open(t, lua.Options{URL: url, Clock: f.clock.Micros})
		}
		f.pods = append(f.pods, coordtest.NewWith(t, r, prefix, coordtest.Options{Clock: f.clock, Deaf: true}))
	}
	return f
}

// start makes a call, and returns when it was answered or sleeps. Its answer
// stays in done.
func (f *fleet) start(pod int, id string, cost int64, wait time.Duration) *waiter {
	ctx, cancel := context.WithCancel(f.t.Context())
	w := &waiter{pod: pod, id: id, cost: cost, cancel: cancel, done: make(chan answer, 1)}
	select {
	case <-f.clock.set:
	default:
	}
	c := coord.Caller{RequestID: id}
	if id != "" {
		c.Fingerprint = fingerprint(cost, wait)
	}
	go func() {
		d, err := f.pods[pod].Limiter.Acquire(ctx, c, waits(f.ref, cost, wait))
		w.done <- answer{d, err, f.clock.Now()}
	}()
	select {
	case a := <-w.done:
		w.done <- a
	case <-f.clock.set:
	}
	return w
}

// join repeats a call that sleeps, with its request id, and returns when it has
// taken part in its waiting.
func (f *fleet) join(w *waiter, wait time.Duration) *waiter {
	l := f.pods[w.pod].Limiter
	before := l.Callers()
	ctx, cancel := context.WithCancel(f.t.Context())
	again := &waiter{pod: w.pod, id: w.id, cost: w.cost, cancel: cancel, done: make(chan answer, 1)}
	go func() {
		d, err := l.Acquire(ctx, coord.Caller{RequestID: w.id, Fingerprint: fingerprint(w.cost, wait)},
			waits(f.ref, w.cost, wait))
		again.done <- answer{d, err, f.clock.Now()}
	}()
	for l.Callers() == before {
		runtime.Gosched()
	}
	return again
}

func fingerprint(cost int64, wait time.Duration) string { return fmt.Sprint("f", cost, wait) }

// leave cancels a call, and waits for its end.
func (w *waiter) leave(t *testing.T) {
	w.cancel()
	a := w.end(t)
	var e *coord.Error
	require.ErrorAs(t, a.err, &e)
	require.Equal(t, api.Cancelled, e.Code)
}

// let requires that the call was let through, after this wait.
func (w *waiter) let(t *testing.T, waited time.Duration) api.RatelimitResult {
	t.Helper()
	a := w.end(t)
	require.NoError(t, a.err)
	require.True(t, a.d.Allowed)
	require.Equal(t, waited, millis(a.d.WaitedMS))
	return a.d
}

func (f *fleet) sleeping() int {
	n := 0
	for _, p := range f.pods {
		n += p.Limiter.Sleeping()
	}
	return n
}

// end is the call's answer, which has to come.
func (w *waiter) end(t *testing.T) answer {
	t.Helper()
	select {
	case a := <-w.done:
		w.cancel()
		return a
	case <-time.After(30 * time.Second):
		require.FailNow(t, "it still waits")
		return answer{}
	}
}

// answered reports whether the call was answered.
func (w *waiter) answered() bool { return len(w.done) > 0 }

// TestNoCancelsPassTheBound: whichever calls are cancelled, in any order, no band lets through more than its capacity
// and what refilled.
func TestNoCancelsPassTheBound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		algorithm string
		cancels   int
		bands     []api.Band
	}{
		"one band":       {tokenBucket, 5000, []api.Band{band(4, time.Second)}},
		"a burst of one": {tokenBucket, 5000, []api.Band{{Limit: 7, PeriodMS: 3000, Burst: 1}}},
		"two bands":      {tokenBucket, 5000, []api.Band{band(5, time.Second), band(12, 10*time.Second)}},
		"far apart":      {tokenBucket, 5000, []api.Band{{Limit: 50, PeriodMS: 1000, Burst: 3}, band(6, time.Minute)}},
		"leaky":          {"leaky_bucket", 2000, []api.Band{{Limit: 7, PeriodMS: 3000, Burst: 3}, {Limit: 30, PeriodMS: 20_000, Burst: 5}}},
		"windows":        {"fixed_window", 2000, []api.Band{band(5, time.Second), band(12, 10*time.Second)}},
		"a log":          {"sliding_window_log", 2000, []api.Band{band(5, time.Second), band(12, 10*time.Second)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bands := c.bands
			f := newFleet(t, redistest.URL(t), 3, api.RatelimitParams{Algorithm: c.algorithm, Limits: bands, Key: "k"})
			h := history{f: f, rng: rand.New(rand.NewPCG(7, uint64(len(name)))), most: 1}
			for _, b := range bands {
				h.most = max(h.most, min(b.Burst, 3))
				if b.Burst == 0 {
					h.most = max(h.most, 3)
				}
			}
			most := c.cancels / raceFactor
			for h.cancels < most {
				h.step()
			}
			h.drain()
			h.check(bands)
			require.Greater(t, len(h.admitted), most/5)
			for _, p := range f.pods {
				calls, requests := p.Limiter.Reserved()
				require.Zero(t, calls+requests, "nothing is left of those who left")
			}
		})
	}
}

// history is a random history of a fleet.
type history struct {
	f        *fleet
	rng      *rand.Rand
	most     int64 // cost
	waiting  []*waiter
	cancels  int
	ids      int
	admitted []admission
}

// admission is the instant (us) from which a cost was let through. It is that of the slot, even if the clock had gone
// on when the caller got its answer.
type admission struct{ at, cost int64 }

func (h *history) step() {
	switch n := h.rng.IntN(20); {
	case n < 10 && len(h.waiting) < 40:
		id := ""
		if h.rng.IntN(2) == 0 {
			h.ids++
			id = fmt.Sprint("r", h.ids)
		}
		w := h.f.start(h.rng.IntN(len(h.f.pods)), id, 1+h.rng.Int64N(h.most), time.Duration(h.rng.Int64N(int64(time.Minute))))
		h.waiting = append(h.waiting, w)
	case n < 16 && len(h.waiting) > 0:
		w := h.waiting[h.rng.IntN(len(h.waiting))]
		w.cancel()
		w.done <- w.end(h.f.t)
		h.cancels++
	case n < 18:
		h.f.clock.Advance(time.Duration(h.rng.Int64N(int64(50 * time.Millisecond))))
	default:
		h.next()
	}
	h.collect()
}

// next lets the next slot come.
func (h *history) next() {
	if at, ok := h.f.clock.Next(); ok {
		h.f.clock.Advance(at.Sub(h.f.clock.Now()))
	}
}

// collect waits for the calls that no longer sleep, and notes which were admitted.
func (h *history) collect() {
	for late := time.Now().Add(30 * time.Second); len(h.waiting)-h.answered() > h.f.sleeping(); runtime.Gosched() {
		require.True(h.f.t, time.Now().Before(late), "a slot came, and its call still waits")
	}
	h.waiting = slices.DeleteFunc(h.waiting, func(w *waiter) bool {
		if !w.answered() {
			return false
		}
		a := <-w.done
		w.cancel()
		if a.err == nil && a.d.Allowed {
			g, err := ratelimit.GrantOf(a.d.Grant)
			require.NoError(h.f.t, err)
			require.GreaterOrEqual(h.f.t, g.Cost, w.cost)
			require.GreaterOrEqual(h.f.t, a.at.UnixMicro(), g.At)
			h.admitted = append(h.admitted, admission{g.At, w.cost})
		}
		return true
	})
}

func (h *history) answered() int {
	n := 0
	for _, w := range h.waiting {
		if w.answered() {
			n++
		}
	}
	return n
}

func (h *history) drain() {
	for len(h.waiting) > 0 {
		h.next()
		h.collect()
	}
}

// check checks the admissions against each band.
func (h *history) check(bands []api.Band) {
	slices.SortStableFunc(h.admitted, func(a, b admission) int { return int(a.at - b.at) })
	switch h.f.ref.Algorithm {
	case "fixed_window":
		h.checkWindows(bands, func(at, p int64) int64 { return at/p*p + p })
	case "sliding_window_log":
		h.checkWindows(bands, func(at, p int64) int64 { return at + p })
	default:
		h.pour(bands)
	}
}

// checkWindows adds up what was let through from each admission to the end of its window.
func (h *history) checkWindows(bands []api.Band, end func(at, period int64) int64) {
	for _, b := range bands {
		for i, first := range h.admitted {
			sum, until := int64(0), end(first.at, b.PeriodMS*1000)
			for _, a := range h.admitted[i:] {
				if a.at >= until {
					break
				}
				sum += a.cost
			}
			require.LessOrEqual(h.f.t, sum, b.Limit, "from admission %d of %d in %v", i, len(h.admitted), b)
		}
	}
}

// pour fills an exact bucket of each band, in units of 1/period tokens.
func (h *history) pour(bands []api.Band) {
	for _, b := range bands {
		p, capacity := b.PeriodMS*1000, b.Burst
		if capacity == 0 {
			capacity = b.Limit
		}
		level, last := int64(0), int64(0)
		for i, a := range h.admitted {
			if last > 0 {
				level = max(0, level-(a.at-last)*b.Limit)
			}
			level, last = level+a.cost*p, a.at
			require.LessOrEqual(h.f.t, level, capacity*p, "admission %d of %d passes %v", i, len(h.admitted), b)
		}
	}
}

// perSecond is a fleet whose bucket of 4 per s is used up: slots are 250 ms apart.
func perSecond(t *testing.T, pods int) *fleet {
	f := newFleet(t, redistest.URL(t), pods, inFull("k", band(4, time.Second)))
	f.start(0, "", 4, 0).let(t, 0)
	return f
}

func TestWaitingCallsGetTheirSlotsInOrderAcrossSidecars(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		f := newFleet(t, url, 2, inFull("k", band(4, time.Second)))
		f.start(0, "", 4, 0).let(t, 0)
		a := f.start(0, "", 1, time.Minute)
		b := f.start(1, "", 2, time.Minute)
		c := f.start(0, "", 1, time.Second)
		far := f.start(1, "", 1, time.Second)
		got := far.end(t)
		require.NoError(t, got.err)
		require.False(t, got.d.Allowed, "further than it would wait: refused at once")
		require.Equal(t, 1250*time.Millisecond, millis(got.d.RetryAfterMS))
		f.clock.Advance(249_999 * time.Microsecond)
		require.False(t, a.answered())
		f.clock.Advance(time.Microsecond)
		d := a.let(t, 250*time.Millisecond)
		require.Zero(t, d.Remaining)
		require.EqualValues(t, 4, d.Current)
		require.Zero(t, millis(d.RetryAfterMS))
		f.clock.Advance(500 * time.Millisecond)
		b.let(t, 750*time.Millisecond)
		require.False(t, c.answered())
		f.clock.Advance(250 * time.Millisecond)
		c.let(t, time.Second)
	})
}

func TestTheLastSlotGoesBackToTheBucket(t *testing.T) {
	t.Parallel()
	f := perSecond(t, 2)
	a, b := f.start(0, "", 1, time.Minute), f.start(1, "", 1, time.Minute)
	b.leave(t)
	c := f.start(0, "", 1, time.Minute)
	f.clock.Advance(250 * time.Millisecond)
	a.let(t, 250*time.Millisecond)
	f.clock.Advance(250 * time.Millisecond)
	c.let(t, 500*time.Millisecond)
}

func TestAnInnerSlotGoesToTheNextOfTheSameSidecar(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"", "with a request id"} {
		f := perSecond(t, 2)
		first := f.start(0, id, 1, time.Minute)
		dear := f.start(0, "", 2, time.Minute)  // 750 ms
		other := f.start(1, "", 1, time.Minute) // 1 s
		next := f.start(0, "", 1, time.Minute)  // 1.25 s
		last := f.start(0, "", 1, time.Minute)  // 1.5 s
		first.leave(t)
		// What was last is free again, and is whose comes next.
		late := f.start(1, "", 1, time.Minute)
		f.clock.Advance(250 * time.Millisecond)
		next.let(t, 250*time.Millisecond)
		f.clock.Advance(500 * time.Millisecond)
		dear.let(t, 750*time.Millisecond)
		f.clock.Advance(250 * time.Millisecond)
		other.let(t, time.Second)
		f.clock.Advance(250 * time.Millisecond)
		last.let(t, 1250*time.Millisecond)
		require.False(t, late.answered())
		f.clock.Advance(250 * time.Millisecond)
		late.let(t, 1500*time.Millisecond)
	}
}

func TestAnInnerSlotWithoutAUserLapses(t *testing.T) {
	t.Parallel()
	f := perSecond(t, 2)
	first := f.start(0, "", 1, time.Minute)
	dear := f.start(0, "", 2, time.Minute)  // 750 ms
	other := f.start(1, "", 1, time.Minute) // 1 s
	first.leave(t)
	late := f.start(0, "", 1, time.Minute)
	f.clock.Advance(750 * time.Millisecond)
	dear.let(t, 750*time.Millisecond)
	f.clock.Advance(250 * time.Millisecond)
	other.let(t, time.Second)
	f.clock.Advance(250 * time.Millisecond)
	late.let(t, 1250*time.Millisecond)
}

func TestARepeatedRequestWaitsForTheSameSlot(t *testing.T) {
	t.Parallel()
	f := perSecond(t, 1)
	first := f.start(0, "id", 1, time.Minute)
	again := f.join(first, time.Minute)
	first.leave(t)
	next := f.start(0, "", 1, time.Minute)
	f.clock.Advance(250 * time.Millisecond)
	require.True(t, again.let(t, 250*time.Millisecond).Replayed, "the slot was not given back")
	f.clock.Advance(250 * time.Millisecond)
	next.let(t, 500*time.Millisecond)
	after := f.start(0, "id", 1, time.Minute)
	require.True(t, after.let(t, 0).Replayed, "the slot has passed, and was its own")

	// A caller that leaves also removes the stored reply, so that a repetition is a new call.
	gone := f.start(0, "gone", 1, time.Minute)
	gone.leave(t)
	f.clock.Advance(time.Second)
	require.False(t, f.start(0, "gone", 1, time.Minute).let(t, 0).Replayed)
}

func TestARequestThatIsRepeatedElsewhereWaitsForTheSameSlot(t *testing.T) {
	t.Parallel()
	f := perSecond(t, 2)
	first := f.start(0, "id", 1, time.Minute)
	f.clock.Advance(100 * time.Millisecond)
	again := f.start(1, "id", 1, time.Minute)
	again.leave(t) // it has nothing of its own to give back
	again = f.start(1, "id", 1, time.Minute)
	next := f.start(1, "", 1, time.Minute)
	f.clock.Advance(150 * time.Millisecond)
	require.False(t, first.let(t, 250*time.Millisecond).Replayed)
	require.True(t, again.let(t, 150*time.Millisecond).Replayed)
	f.clock.Advance(250 * time.Millisecond)
	next.let(t, 400*time.Millisecond)
}

func TestAResetKeepsPromisedSlots(t *testing.T) {
	t.Parallel()
	f := perSecond(t, 2)
	waits := f.start(0, "", 1, time.Minute)
	was, err := f.pods[1].Limiter.Reset(t.Context(), coord.Caller{}, reset(f.ref))
	require.NoError(t, err)
	require.True(t, was.Reset)
	f.start(1, "", 4, 0).let(t, 0)
	f.clock.Advance(250 * time.Millisecond)
	waits.let(t, 250*time.Millisecond)
}

func TestASlotAfterTheDeadlineIsTooFar(t *testing.T) {
	t.Parallel()
	// The slot is after the deadline, which a busy machine must not meet, and within the wait.
	f := newFleet(t, redistest.URL(t), 1, inFull("k", band(4, 48*time.Second)))
	f.start(0, "", 4, 0).let(t, 0)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	r := waits(f.ref, 4, time.Minute)
	d, err := f.pods[0].Limiter.Acquire(ctx, coord.Caller{}, r)
	require.NoError(t, err)
	require.False(t, d.Allowed)
	r.Cost = 1
	d, err = f.pods[0].Limiter.Peek(t.Context(), coord.Caller{}, r)
	require.NoError(t, err)
	require.Equal(t, 12*time.Second, millis(d.RetryAfterMS), "nothing was charged; to look is not to wait")
	r.WaitMS = 60_001
	err = onTheWire(t, f.pods[0], r)
	var e *api.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, []any{api.InvalidArgument, "wait_ms: an integer from 0 to 60000 is expected, not 60001"}, []any{e.Code, e.Message})
}

// The one connection that there is stays free, and all get their slots.
func TestWaitingHoldsNoConnection(t *testing.T) {
	t.Parallel()
	f := &fleet{t: t, clock: &signalling{conformance.NewClock(), make(chan struct{}, 1)}, ref: inFull("k", band(10, time.Second))}
	r := luatest.Open(t, lua.Options{URL: redistest.URL(t), Clock: f.clock.Micros, MaxConns: 1, MinIdle: 1})
	f.pods = append(f.pods, coordtest.NewWith(t, r, redistest.Prefix(t), coordtest.Options{Clock: f.clock, Deaf: true}))
	f.start(0, "", 10, 0).let(t, 0)
	var all []*waiter
	for range 100 {
		all = append(all, f.start(0, "", 1, time.Minute))
	}
	require.Equal(t, 100, f.sleeping())
	for i, w := range all {
		f.clock.Advance(100 * time.Millisecond)
		w.let(t, time.Duration(i+1)*100*time.Millisecond)
	}
}
