package stream

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

// scriptTime bounds one script of a loop.
const scriptTime = 5 * time.Second

// pauses are those of a loop after failures in a row.
func pauses() *backoff.ExponentialBackOff {
	return backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(20*time.Millisecond), backoff.WithMaxInterval(time.Second), backoff.WithMaxElapsedTime(0))
}

// run is the loop: one goroutine waits for new messages, since a read keeps it waiting; the
// other looks for those that are to be delivered again. It ends when nobody uses the group any
// more, or with Stop.
func (g *group) run() {
	ctx, cancel := context.WithCancel(g.d.ctx)
	var reading sync.WaitGroup
	if g.key == "" {
		reading.Go(func() { g.read(ctx) })
	} else {
		reading.Go(func() { g.readLanes(ctx) })
		reading.Go(func() { g.awaitNews(ctx) })
	}
	for !g.d.retire(g) {
		g.lookWhenDue(ctx)
		g.reap(ctx)
		g.count(ctx)
	}
	cancel()
	g.close()
	reading.Wait()
	g.drain()
	g.deliver()
}

// reap removes, once in a while, the consumers that are gone for good. One that fails is made up
// for by the next.
func (g *group) reap(ctx context.Context) {
	if time.Now().Before(g.reapAt) {
		return
	}
	g.reapAt = time.Now().Add(reapEvery)
	ctx, cancel := context.WithTimeout(ctx, scriptTime)
	defer cancel()
	_ = g.d.reap(ctx, g.stream, g.group)
}

// read takes new messages while there is capacity for them.
func (g *group) read(ctx context.Context) {
	again := pauses()
	for {
		n := g.wanted(ctx)
		if n == 0 {
			return
		}
		entries, err := g.reader.Read(ctx, g.group, g.d.Consumer, n, redis.MostBlock)
		if len(entries) > 0 {
			g.keep(g.accept(entries))
			g.deliver()
		}
		switch {
		case err == nil:
			again.Reset()
			g.readable(byReading)
			continue
		case ctx.Err() != nil:
			return
		case errors.Is(err, redis.ErrNoGroup):
			err = g.recreate(ctx, err)
		}
		g.unreadable(byReading, err)
		if !pause(ctx, again.NextBackOff()) {
			return
		}
	}
}

// pause waits, and returns false if ctx has ended.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// wanted waits for capacity and returns how many messages to read; 0 when ctx has ended.
func (g *group) wanted(ctx context.Context) int {
	for {
		g.mu.Lock()
		n := g.capacity()
		if n > 0 && !g.owed {
			n = g.bounded(n, maxRead)
			g.mu.Unlock()
			return n
		}
		g.mu.Unlock()
		select {
		case <-g.more:
		case <-ctx.Done():
			return 0
		}
	}
}

// accept takes entries that were read. Those for another group are acknowledged.
func (g *group) accept(entries []redis.Entry) []*message {
	now := time.Now()
	var all []*message
	var others []AckIn
	for _, e := range entries {
		if e.Only != "" && e.Only != g.group {
			others = append(others, g.ack(e.ID))
			continue
		}
		all = append(all, &message{id: e.ID, text: e.Message, attempt: 1, at: now})
	}
	if len(others) > 0 {
		g.d.inBackground(func() {
			ctx, cancel := context.WithTimeout(context.Background(), scriptTime)
			defer cancel()
			// Those that are left are met again when their visibility timeout is over.
			_, _ = lua.Batch(ctx, g.d.Runner, AckScript, others)
		})
	}
	return all
}

// recreate makes a group that was lost, where it was as far as this sidecar knows.
func (g *group) recreate(ctx context.Context, lost error) error {
	ctx, cancel := context.WithTimeout(ctx, scriptTime)
	defer cancel()
	g.mu.Lock()
	from := g.last
	g.mu.Unlock()
	if _, err := g.create(ctx, from, lua.Impatient); err != nil {
		return err
	}
	return lost
}

// unreadable and readable write one line each of a group that cannot be read, one way or the
// other, for as long as that lasts. That Redis is away, or refuses all, is told elsewhere, once for all groups.
func (g *group) unreadable(way int, err error) {
	if err == nil || g.d.ctx.Err() != nil {
		return
	}
	var why *redis.Trouble
	away := errors.Is(err, redis.ErrMaybeExecuted) || errors.Is(err, redis.ErrUnavailable)
	// A user that may run scripts and not read streams is not met by the probe.
	if away && (!errors.As(err, &why) || why.Name != "denied") {
		return
	}
	g.mu.Lock()
	first := !g.reporting[way]
	g.reporting[way] = true
	g.mu.Unlock()
	if first {
		g.d.Log.Warn("a group of a stream cannot be read; it is made again if it is gone", "stream", g.stream, "group", g.group, "err", err)
	}
}

func (g *group) readable(way int) {
	g.mu.Lock()
	told := g.reporting[way]
	g.reporting[way] = false
	g.mu.Unlock()
	if told {
		g.d.Log.Info("the group of a stream is read again", "stream", g.stream, "group", g.group)
	}
}

// lookWhenDue waits until there is something to look for, and looks.
func (g *group) lookWhenDue(ctx context.Context) {
	g.mu.Lock()
	wait := time.Until(g.lookAt)
	if g.owed && g.capacity() > 0 {
		wait = 0
	}
	if at, waiting := g.keptUntil(); waiting {
		wait = min(wait, time.Until(at))
	}
	g.mu.Unlock()
	t := time.NewTimer(max(wait, 0))
	defer t.Stop()
	select {
	case <-t.C:
	case <-g.look:
	case <-ctx.Done():
		return
	}
	g.mu.Lock()
	due := !time.Now().Before(g.lookAt) || g.owed && g.capacity() > 0
	g.mu.Unlock()
	if due {
		g.claim(ctx)
	}
	g.deliver()
}

// claim takes what is to be delivered again, from the first pending message to the last, and
// says when to look next. With no capacity it moves dead letters alone.
func (g *group) claim(ctx context.Context) {
	visibility := g.sweep()
	// Before anything is asked for: what is heard of meanwhile brings it forward.
	g.mu.Lock()
	every := min(visibility/2, lookEvery)
	g.looked = time.Now()
	g.lookAt = g.looked.Add(every - spread(every/4))
	g.owed = false
	g.mu.Unlock()
	after, more := "", false
	for {
		g.mu.Lock()
		n := g.bounded(g.capacity(), maxClaim)
		if g.capacity() == 0 {
			n = 0
		}
		g.mu.Unlock()
		out, err := g.claimOnce(ctx, n, visibility, after)
		switch {
		case err != nil:
			g.unreadable(byClaiming, err)
			g.settle(false)
			return
		case out.Missing:
			g.unreadable(byClaiming, g.recreate(ctx, redis.ErrNoGroup))
			g.settle(false)
			return
		}
		g.readable(byClaiming)
		more = more || out.More
		g.deliver()
		if out.RetryMS > 0 {
			g.lookBy(time.Now().Add(coord.Millis(out.RetryMS) + spread(heardWithin)))
		}
		if after = out.Next; after == "" || ctx.Err() != nil {
			g.settle(more || out.RetryMS == 0)
			return
		}
	}
}

// settle ends a look: owed says that messages are left that are to be delivered again.
func (g *group) settle(owed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.owed = g.owed || owed
	g.kick()
}

// claimOnce takes at most n messages that are behind one, and puts them to those to be sent.
func (g *group) claimOnce(ctx context.Context, n int, visibility time.Duration, after string) (ClaimOut, error) {
	ctx, cancel := context.WithTimeout(ctx, scriptTime)
	defer cancel()
	out, taken, err := g.claimRun(ctx, n, visibility, after)
	g.keep(taken)
	return out, err
}

// claimRun runs the script.
func (g *group) claimRun(ctx context.Context, n int, visibility time.Duration, after string) (ClaimOut, []*message, error) {
	run, err := lua.Attempt(ctx, g.d.Runner, ClaimScript, ClaimIn{
		Keys: g.keys, GroupKeys: g.own, Group: g.group, Consumer: g.d.Consumer, VisibilityMS: visibility.Milliseconds(),
		MaxDeliveries: g.settingsNow().maxDeliveries, Count: int64(n), After: after,
	}, lua.StoredReply{})
	if err != nil {
		return run.Value, nil, err
	}
	out := run.Value
	g.d.Telemetry.StreamMessages(ctx, "dead", out.Dead)
	g.d.Telemetry.StreamMessages(ctx, "trimmed", out.Trimmed)
	entries := make([]redis.Entry, len(out.Claimed))
	attempts := make(map[string]int64, len(out.Claimed))
	for i, m := range out.Claimed {
		entries[i] = redis.Entry{ID: m.ID, Message: m.Message, Only: m.Only}
		attempts[m.ID] = m.Attempt
	}
	taken := g.accept(entries)
	for _, m := range taken {
		m.attempt = attempts[m.id]
	}
	g.mu.Lock()
	if later(out.Last, g.last) {
		g.last = out.Last
	}
	g.mu.Unlock()
	return out, taken, nil
}
