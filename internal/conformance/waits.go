package conformance

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// waiting is a call that waits for its slot.
type waiting struct {
	l      limiter
	cancel context.CancelFunc
	done   chan error
	result api.RatelimitResult // once done
}

// wait starts a call that waits up to a minute, and returns when its slot was promised.
func (l limiter) wait(id string, cost int64, bands ...api.Band) *waiting {
	l.t.Helper()
	p := l.params(cost, bands...)
	p.WaitMS = 60_000
	ctx, cancel := context.WithCancel(patient(l.t))
	w := &waiting{l: l, cancel: cancel, done: make(chan error, 1)}
	before := l.peek(1, bands...)
	go func() {
		r, err := do(ctx, l.client, id, api.RatelimitAcquire, p)
		w.result = r
		w.done <- err
	}()
	// Time stands still, so that nothing else changes the answer.
	l.until("the slot is promised", func() bool { return l.peek(1, bands...) != before })
	return w
}

// until polls until a condition holds that another goroutine or sidecar fulfils.
func (l limiter) until(what string, is func() bool) {
	l.t.Helper()
	for late := time.Now().Add(patience); !is(); time.Sleep(time.Millisecond) {
		require.True(l.t, time.Now().Before(late), what)
	}
}

// let lets time pass until the call is answered: allowed, and not before its slot.
func (w *waiting) let(slot time.Duration) api.RatelimitResult {
	w.l.t.Helper()
	r := w.ended(slot)
	require.True(w.l.t, r.Allowed)
	return r
}

// ended lets time pass until the call is answered, not before its slot.
func (w *waiting) ended(slot time.Duration) api.RatelimitResult {
	w.l.t.Helper()
	for late := time.Now().Add(patience); ; {
		select {
		case err := <-w.done:
			w.cancel()
			require.NoError(w.l.t, err)
			require.GreaterOrEqual(w.l.t, w.result.WaitedMS, slot.Milliseconds())
			return w.result
		case <-time.After(time.Millisecond):
			require.True(w.l.t, time.Now().Before(late), "its slot came, and it still waits")
			w.l.sys.Advance(10 * time.Millisecond)
		}
	}
}

func waitsForItsSlot(l limiter) {
	band := per(4, 2*time.Second)
	other := l
	other.client = l.sys.Connect(l.t, 1, "limits")
	l.acquire(4, band)
	first := l.wait("", 1, band)
	second := other.wait("", 2, band)
	third := l.wait("", 1, band)
	require.False(l.t, l.acquire(1, band).Allowed, "who does not wait is not let in before them")
	r := first.let(500 * time.Millisecond)
	require.Zero(l.t, r.RetryAfterMS)
	require.Equal(l.t, "redis", r.Source)
	require.False(l.t, r.Degraded)
	// They were all asked for at the same time.
	second.let(1500 * time.Millisecond)
	third.let(2 * time.Second)
}

func tooFarIsRefused(l limiter) {
	band := per(4, 2*time.Second)
	l.acquire(4, band)
	p := l.params(1, band)
	p.WaitMS = 499
	r, err := do(patient(l.t), l.client, "", api.RatelimitAcquire, p)
	require.NoError(l.t, err)
	require.False(l.t, r.Allowed)
	require.Equal(l.t, int64(500), r.RetryAfterMS)
	require.Zero(l.t, r.WaitedMS)
	require.Equal(l.t, int64(4), l.peek(1, band).Current, "nothing was charged")

	// A slot after the call's deadline is refused, however far away it is.
	p.WaitMS = 60_000
	p.Cost = 4
	p.Limits = []api.Band{per(4, time.Hour)}
	forgotten := api.RatelimitResetParams{Algorithm: p.Algorithm, Limits: p.Limits, Key: p.Key}
	do(patient(l.t), l.client, "", api.RatelimitReset, forgotten) //nolint:errcheck // there may be no state
	ctx, cancel := context.WithTimeout(patient(l.t), patience)
	defer cancel()
	l.acquire(4, p.Limits...)
	r, err = do(ctx, l.client, "", api.RatelimitAcquire, p)
	require.NoError(l.t, err)
	require.False(l.t, r.Allowed)

	for want, change := range map[string]func(*api.RatelimitParams){
		"wait_ms":   func(p *api.RatelimitParams) { p.WaitMS = 60_001 },
		"fail_mode": func(p *api.RatelimitParams) { p.FailMode = "shut" },
	} {
		p := l.params(1, band)
		change(&p)
		_, err := do(patient(l.t), l.client, "", api.RatelimitAcquire, p)
		require.ErrorIs(l.t, err, api.InvalidArgument)
		require.ErrorContains(l.t, err, want)
	}
}

func leavingGivesBack(l limiter) {
	band := per(4, 2*time.Second)
	l.acquire(4, band)
	for _, id := range []string{"", "leaves"} {
		w := l.wait(id, 2, band)
		w.cancel()
		require.Error(l.t, <-w.done)
		l.until("the slot is given back", func() bool { return l.peek(1, band).Current == 4 })
	}
	// The same when its connection ends.
	leaver := l
	leaver.client = l.sys.Connect(l.t, 1, "limits")
	w := leaver.wait("", 2, band)
	w.cancel()
	leaver.client.Close()
	require.Error(l.t, <-w.done)
	l.until("the slot is given back", func() bool { return l.peek(1, band).Current == 4 })
	// No other call waits behind it, so that the next call gets the slot.
	l.wait("", 1, band).let(0)
}

func repetitionTakesOver(l limiter) {
	band := per(400, 200*time.Second)
	start := l.sys.Now()
	l.acquire(400, band)
	first := l.wait("repeated", 1, band)
	p := l.params(1, band)
	p.WaitMS = 60_000
	again := &waiting{l: l, cancel: func() {}, done: make(chan error, 1)}
	client := l.sys.Connect(l.t, 0, "limits")
	go func() {
		r, err := do(patient(l.t), client, "repeated", api.RatelimitAcquire, p)
		again.result = r
		again.done <- err
	}()
	r := again.let(0)
	require.True(l.t, r.Replayed)
	first.let(500 * time.Millisecond)
	// A loaded machine lets more time pass than both calls need, and a token comes back every 500 ms.
	refilled := l.sys.Now().Sub(start) / (500 * time.Millisecond)
	require.Equal(l.t, 401-int64(refilled), l.peek(1, band).Current, "counted once")
}

func refusedLocally(l limiter) {
	band := per(4, 4*time.Minute)
	l.acquire(3, band)
	// A sidecar drops its cached refusals when it begins to listen to broadcasts, which may be between two of these calls.
	cached := func() (r api.RatelimitResult) {
		l.until("a refusal is answered from the cache", func() bool {
			r = l.acquire(2, band)
			return r.Source == "cache"
		})
		return r
	}
	require.Equal(l.t, int64(60_000), cached().RetryAfterMS)
	l.sys.Advance(300 * time.Millisecond)
	require.Equal(l.t, int64(59_700), cached().RetryAfterMS)
	require.True(l.t, l.acquire(1, band).Allowed)
	l.sys.Advance(59_700 * time.Millisecond)
	require.False(l.t, l.acquire(2, band).Allowed)
}
