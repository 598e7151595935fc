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

// scriptTime bounds one script run of a loop.
const scriptTime = 5 * time.Second

// pauses returns the backoff of a loop after consecutive failures.
func pauses() *backoff.ExponentialBackOff {
	return backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(20*time.Millisecond), backoff.WithMaxInterval(time.Second), backoff.WithMaxElapsedTime(0))
}

// run is the loop of a group. New messages are read by goroutines of their own, since a read
// blocks; the goroutine of run claims messages that are to be delivered again. run returns when the
// group is unused, or after Stop.
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

// reap removes the consumers that are gone for good, every reapEvery. An error is ignored, since
// the next run removes them.
func (g *group) reap(ctx context.Context) {
	if time.Now().Before(g.reapAt) {
		return
	}
	g.reapAt = time.Now().Add(reapEvery)
	ctx, cancel := context.WithTimeout(ctx, scriptTime)
	defer cancel()
	_ = g.d.reap(ctx, g.stream, g.group)
}

// read reads and delivers new messages whenever there is capacity for them, until ctx ends.
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
		if n > 0 && !g.retries {
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

// accept makes messages of entries that were read. It acknowledges those for another group.
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
			// If one fails, its entry is claimed and acknowledged after the visibility timeout.
			_, _ = lua.Batch(ctx, g.d.Runner, AckScript, others)
		})
	}
	return all
}

// recreate makes a group again that Redis lost, behind the last message that this sidecar knows to
// have been delivered. If that succeeds it returns lost.
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

// unreadable logs once that messages of a group cannot be got in this way, until readable logs that
// they can be got again. An outage of Redis, or that it refuses all commands, is logged elsewhere,
// once for all groups.
func (g *group) unreadable(way int, err error) {
	if err == nil || g.d.ctx.Err() != nil {
		return
	}
	var why *redis.Trouble
	away := errors.Is(err, redis.ErrMaybeExecuted) || errors.Is(err, redis.ErrUnavailable)
	// The probe does not find that a Redis user may run scripts but not read streams.
	if away && (!errors.As(err, &why) || why.Name != "denied") {
		return
	}
	g.mu.Lock()
	first := !g.reporting[way]
	g.reporting[way] = true
	g.mu.Unlock()
	if first {
		g.d.Log.Warn("the messages of a group of a stream cannot be read; retrying, and the group is made again if it does not exist",
			"stream", g.stream, "group", g.group, "err", err)
	}
}

func (g *group) readable(way int) {
	g.mu.Lock()
	reported := g.reporting[way]
	g.reporting[way] = false
	g.mu.Unlock()
	if reported {
		g.d.Log.Info("the messages of a group of a stream can be read again", "stream", g.stream, "group", g.group)
	}
}

// lookWhenDue waits until a claim is due, until messages are to be given back, or until g.look
// wakes it. Then it claims if that is due, and delivers.
func (g *group) lookWhenDue(ctx context.Context) {
	g.mu.Lock()
	wait := time.Until(g.lookAt)
	if g.retries && g.capacity() > 0 {
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
	due := !time.Now().Before(g.lookAt) || g.retries && g.capacity() > 0
	g.mu.Unlock()
	if due {
		g.claim(ctx)
	}
	g.deliver()
}

// claim takes and delivers the messages that are to be delivered again, from the first pending
// message to the last, and sets when to claim next. Without capacity it only moves messages to the
// dead letters.
func (g *group) claim(ctx context.Context) {
	visibility := g.sweep()
	// lookAt is set before Redis is asked, so that a broadcast that comes meanwhile can bring it forward.
	g.mu.Lock()
	every := min(visibility/2, lookEvery)
	g.looked = time.Now()
	g.lookAt = g.looked.Add(every - spread(every/4))
	g.retries = false
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
			g.lookBy(time.Now().Add(coord.Millis(out.RetryMS) + spread(signalSpread)))
		}
		if after = out.Next; after == "" || ctx.Err() != nil {
			g.settle(more || out.RetryMS == 0)
			return
		}
	}
}

// settle ends a claim. retries reports that it left messages that are to be delivered again.
func (g *group) settle(retries bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.retries = g.retries || retries
	g.wake()
}

// claimOnce claims at most n messages, from the one after on, and appends them to those that are to
// be sent.
func (g *group) claimOnce(ctx context.Context, n int, visibility time.Duration, after string) (ClaimOut, error) {
	ctx, cancel := context.WithTimeout(ctx, scriptTime)
	defer cancel()
	out, taken, err := g.claimRun(ctx, n, visibility, after)
	g.keep(taken)
	return out, err
}

// claimRun runs ClaimScript.
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
