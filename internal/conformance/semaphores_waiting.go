package conformance

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// waits is a call that waits in the waiting line.
type waits struct {
	ended chan permitOutcome
}

type permitOutcome struct {
	api.SemaphoreAcquireResult
	err error
}

// stand starts one more call that waits, and returns when it is in the waiting line.
func (p semaphore) stand(ctx context.Context, c Client, q api.SemaphoreAcquireParams) waits {
	p.t.Helper()
	before := p.get(p.b).Waiting
	w := waits{make(chan permitOutcome, 1)}
	q.Name, q.Limit, q.WaitMS = p.name, p.limit, 60_000
	go func() {
		r, err := do(ctx, c, "", api.SemaphoreAcquire, q)
		w.ended <- permitOutcome{r, err}
	}()
	p.waiting(before + 1)
	return w
}

func (p semaphore) waiting(want int64) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(patient(p.t), patience)
	defer cancel()
	for p.get(p.b).Waiting != want {
		require.NoError(p.t, ctx.Err(), "never so many in line: %d", want)
	}
}

func (p semaphore) served(w waits) api.SemaphoreAcquireResult {
	p.t.Helper()
	select {
	case o := <-w.ended:
		require.NoError(p.t, o.err)
		require.True(p.t, o.Acquired, "%+v", o.SemaphoreAcquireResult)
		return o.SemaphoreAcquireResult
	case <-time.After(patience):
		p.t.Fatalf("never served: %+v", p.get(p.b))
		return api.SemaphoreAcquireResult{}
	}
}

func nobodyPasses(p semaphore) {
	g := p.take(p.a, api.SemaphoreAcquireParams{})
	many := p.stand(patient(p.t), p.b, api.SemaphoreAcquireParams{Permits: 3})
	one := p.stand(patient(p.t), p.a, api.SemaphoreAcquireParams{})
	r := p.try(p.b, "", api.SemaphoreAcquireParams{})
	require.Equal(p.t, []any{"busy", int64(2)}, []any{r.Reason, r.Free}, "two are free, and not for newcomers")
	require.Positive(p.t, r.RetryAfterMS)
	require.Equal(p.t, int64(1), p.get(p.a).Held)
	p.release(p.a, g.Token)
	all := p.served(many)
	require.Equal(p.t, int64(1), p.get(p.a).Waiting)
	p.release(p.a, all.Token)
	require.Greater(p.t, p.fence(p.served(one).Fence), p.fence(all.Fence))
}

func leavingLetsIn(p semaphore) {
	p.take(p.a, api.SemaphoreAcquireParams{})
	ctx, cancel := context.WithCancel(patient(p.t))
	many := p.stand(ctx, p.a, api.SemaphoreAcquireParams{Permits: 3})
	one := p.stand(patient(p.t), p.b, api.SemaphoreAcquireParams{})
	cancel()
	require.Error(p.t, (<-many.ended).err)
	p.served(one)
	p.waiting(0)
	require.Equal(p.t, int64(2), p.get(p.a).Held)
	in := p.try(p.a, "", api.SemaphoreAcquireParams{Permits: 3, WaitMS: 1})
	require.Equal(p.t, []any{"busy", int64(1)}, []any{in.Reason, in.Free})
	p.waiting(0)
}

func cancelledPermits(p semaphore) {
	g := p.take(p.a, api.SemaphoreAcquireParams{Permits: 3})
	gone := p.sys.Connect(p.t, 0, "gone")
	for range 20 {
		p.stand(patient(p.t), gone, api.SemaphoreAcquireParams{})
	}
	live := p.stand(patient(p.t), p.b, api.SemaphoreAcquireParams{Permits: 3})
	p.release(p.a, g.Token)
	// Some of the twenty calls are granted permits before their connection closes, and give them back when it does.
	gone.Close()
	p.served(live)
	require.Equal(p.t, int64(3), p.get(p.b).Held)
	require.Zero(p.t, p.get(p.b).Waiting)
}

func severalServed(p semaphore) {
	g := p.take(p.a, api.SemaphoreAcquireParams{Permits: 3})
	line := make([]waits, 6)
	for i := range line {
		line[i] = p.stand(patient(p.t), []Client{p.a, p.b}[i%2], api.SemaphoreAcquireParams{})
	}
	p.release(p.a, g.Token)
	last, tokens := p.fence(g.Fence), []string{}
	for i, w := range line {
		if i >= 3 {
			p.release(p.a, tokens[i-3])
		}
		r := p.served(w)
		require.Greater(p.t, p.fence(r.Fence), last, "in their order")
		last = p.fence(r.Fence)
		tokens = append(tokens, r.Token)
	}
	require.Equal(p.t, int64(3), p.get(p.a).Held)
}
