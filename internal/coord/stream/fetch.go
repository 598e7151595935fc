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

// maxFetched is the most bytes of the messages of one fetch, unless its first message has more.
const maxFetched = 512 << 10

// fetch is a call of Fetch that waits for messages. Its group's mu guards got.
type fetch struct {
	count int
	got   []*message
	done  chan struct{} // closed when got has messages, or when the group drains
}

// Fetch takes messages of a group, at once or when the first one comes. Messages that cannot be
// sent to the caller any more are given back, and delivered again at once.
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

// hand binds messages to the caller's session, if they are to be bound, and returns them in the
// form that clients are sent. If the caller has gone meanwhile, it gives all of them back.
func (d *delivery) hand(
	ctx context.Context, c coord.Caller, n groupName, got []*message, bound bool, ttl time.Duration,
) ([]api.StreamMessage, error) {
	all := make([]api.StreamMessage, 0, len(got))
	open := ctx.Err() == nil
	var unanswered []string
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
			unanswered = append(unanswered, m.id)
			continue
		}
		all = append(all, w)
		d.delivered(m)
	}
	if open {
		return all, nil
	}
	// A bound message is given back by the end of the session, or here if Forget returns its lease.
	for _, w := range all {
		if !bound || d.Leases.Forget(messageName{n, w.ID}.lease()) != nil {
			unanswered = append(unanswered, w.ID)
		}
	}
	d.giveBackUnseen(n, unanswered)
	if err := ctx.Err(); err != nil {
		return nil, coord.Failed(n.op("fetch"), err)
	}
	return nil, &coord.Error{Code: api.Cancelled, Op: n.op("fetch"), Err: errors.New("the connection closed before it was answered; the messages were given back")}
}

// take takes the messages that there are without waiting: first those that are to be delivered
// again, then new ones. If Redis lost the group, take makes it again.
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
		if err != nil || len(got) < n { // the messages are returned; the next call gets the error if it persists
			break
		}
	}
	return g.fit(all), nil
}

// fitting returns how many messages to take: at most count, and as many as have about that many
// bytes, but at least 1. It returns 0 if the group drains.
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
	case g.key != "": // the claim has put messages back into their lanes
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

// fit returns as many messages as fit into one answer. The rest is delivered to other users of the
// group, or given back.
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

// await waits until the loop delivers messages to this fetch.
func (g *group) await(ctx context.Context, count int, wait time.Duration) []*message {
	if at, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(at)*9/10) // leave time to answer
	}
	f := &fetch{count: count, done: make(chan struct{})}
	g.mu.Lock()
	if g.draining {
		g.mu.Unlock()
		return nil
	}
	g.fetches = append(g.fetches, f)
	g.wake()
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

// serve gives a fetch as many of the messages that are to be sent as it may have. It needs mu.
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
