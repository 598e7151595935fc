package stream

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

// maxFetched is the most bytes that one fetch is answered, unless its first message has more.
const maxFetched = 512 << 10

// fetch is one that waits. Its group's mu guards got.
type fetch struct {
	count int
	got   []*message
	done  chan struct{} // closed when it has something, or delivering has ended
}

// Fetch takes messages of a group, at once or when the first one comes. Messages of which the
// caller does not hear are delivered again at once.
func (d *delivery) Fetch(ctx context.Context, c coord.Caller, p *api.StreamFetchParams) (r api.StreamFetchResult, _ error) {
	n := groupName{p.Stream, p.Group}
	bound := p.Bind == api.BindSession
	if err := lease.CheckBound(c, bound, "messages"); err != nil {
		return r, err
	}
	set := settings{coord.Millis(p.VisibilityMS), p.MaxDeliveries, p.Rule, p.Key}
	g, _, err := d.join(ctx, n, set, p.Start)
	if err != nil {
		return r, err
	}
	defer g.leave()
	got, err := g.take(ctx, int(p.Count))
	if err == nil && len(got) == 0 && p.WaitMS > 0 {
		came := time.Now()
		got = g.await(ctx, int(p.Count), coord.Millis(p.WaitMS))
		d.Telemetry.Waited(ctx, noun, lease.WaitOutcome(len(got) > 0, nil), time.Since(came))
	}
	if len(got) == 0 && err != nil {
		return r, coord.Failed(n.op("fetch"), err)
	}
	r.Messages, err = d.hand(ctx, c, n, got, bound, set.visibility)
	return r, err
}

// hand makes messages the caller's.
func (d *delivery) hand(
	ctx context.Context, c coord.Caller, n groupName, got []*message, bound bool, ttl time.Duration,
) ([]api.StreamMessage, error) {
	all := make([]api.StreamMessage, 0, len(got))
	open := ctx.Err() == nil
	var unheard []string
	name := n.lease()
	for _, m := range got {
		w, err := d.wire(n, m)
		switch {
		case err != nil:
			d.bury(n, m, err)
			continue
		case open && bound:
			open = d.bind(d.leaseOf(name, m.id, c.Session, ttl), m.at)
		}
		if !open {
			unheard = append(unheard, m.id)
			continue
		}
		all = append(all, w)
		d.delivered(m)
	}
	if open {
		return all, nil
	}
	// Those that were bound are given back when the session closes, or now.
	for _, w := range all {
		if !bound || d.Leases.Forget(messageName{n, w.ID}.lease()) != nil {
			unheard = append(unheard, w.ID)
		}
	}
	d.giveBackUnseen(n, unheard)
	if err := ctx.Err(); err != nil {
		return nil, coord.Failed(n.op("fetch"), err)
	}
	return nil, &coord.Error{Code: api.Cancelled, Op: n.op("fetch"), Err: errors.New("the connection closed before it was answered; the messages were given back")}
}

// take takes messages that are there: those that are to be delivered again, then new ones. A
// group that is gone is made again.
func (g *group) take(ctx context.Context, count int) ([]*message, error) {
	g.asking.Lock()
	defer g.asking.Unlock()
	var all []*message
	bytes, again := 0, true
	for len(all) < count && bytes < maxFetched {
		n := g.fitting(count-len(all), maxFetched-bytes)
		if n == 0 {
			break
		}
		got, err := g.takeOnce(ctx, n)
		if errors.Is(err, redis.ErrNoGroup) && again {
			again = false
			if err = g.recreate(ctx, nil); err == nil {
				continue
			}
		}
		all = append(all, got...)
		for _, m := range got {
			bytes += len(m.text)
		}
		if err != nil && len(all) == 0 {
			return nil, err
		}
		if err != nil || len(got) < n { // a failure comes again with the next call
			break
		}
	}
	return g.fit(all), nil
}

// fitting is how many messages to take, of at most count and about so many bytes; 0 = none are
// delivered any more.
func (g *group) fitting(count, bytes int) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.draining {
		return 0
	}
	return max(min(count, int(int64(bytes)/g.heaviest)), 1)
}

// takeOnce takes at most n messages.
func (g *group) takeOnce(ctx context.Context, n int) ([]*message, error) {
	out, got, err := g.claimRun(ctx, min(n, maxClaim), g.sweep(), "")
	switch {
	case err != nil:
	case out.Missing:
		err = redis.ErrNoGroup
	case g.key != "": // what was claimed is back in its lane
		got, _, err = g.admitted(ctx, min(n, maxRead))
	case len(got) < n:
		var entries []redis.Entry
		entries, err = g.asker.Read(ctx, g.group, g.d.Consumer, n-len(got), 0)
		got = append(got, g.accept(entries)...)
	}
	g.mu.Lock()
	g.weigh(got)
	g.mu.Unlock()
	return got, err
}

// fit returns as many messages as one answer takes. The others wait for other users of the
// group, or are given back.
func (g *group) fit(all []*message) []*message {
	n, bytes := 0, 0
	for _, m := range all {
		if bytes += len(m.text); n > 0 && bytes > maxFetched {
			break
		}
		n++
	}
	if rest := all[n:]; len(rest) > 0 {
		g.keep(rest)
		g.deliver()
	}
	return all[:n]
}

// await waits for messages of the loop.
func (g *group) await(ctx context.Context, count int, wait time.Duration) []*message {
	if at, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(at)*9/10) // the answer takes time too
	}
	f := &fetch{count: count, done: make(chan struct{})}
	g.mu.Lock()
	if g.draining {
		g.mu.Unlock()
		return nil
	}
	g.fetches = append(g.fetches, f)
	g.kick()
	g.mu.Unlock()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-f.done:
	case <-timer.C:
	case <-ctx.Done():
	}
	g.mu.Lock()
	g.fetches = slices.DeleteFunc(g.fetches, func(other *fetch) bool { return other == f })
	g.mu.Unlock()
	return f.got
}

// serve gives a fetch the messages that there are. It needs mu.
func (g *group) serve(f *fetch) {
	n, bytes := 0, 0
	for n < min(len(g.unsent), f.count) {
		if bytes += len(g.unsent[n].text); n > 0 && bytes > maxFetched {
			break
		}
		n++
	}
	f.got = slices.Clone(g.unsent[:n])
	g.forget(n)
	g.fetches = slices.DeleteFunc(g.fetches, func(other *fetch) bool { return other == f })
	close(f.done)
}
