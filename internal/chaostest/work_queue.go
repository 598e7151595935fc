package chaostest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

var queues = []string{"queue/a", "queue/b"}

const (
	// entryTTL is longer than a run, so that nothing expires in it.
	entryTTL = 10 * time.Minute
	// leased is the TTL of a lease, after which an entry comes back that a client took and did not end.
	leased = time.Second
	// full is the number of entries in a queue above which its producers slow down.
	full = 50
)

var queueNoun = noun{
	roles: func(w *worker) []func(context.Context) { return []func(context.Context){w.produce, w.consume} },
	after: func(r *run) map[string]func(context.Context, *client.Client) error {
		all := make(map[string]func(context.Context, *client.Client) error)
		for _, queue := range queues {
			all["emptying "+queue] = func(ctx context.Context, c *client.Client) error { return r.drain(ctx, c, queue) }
		}
		return all
	},
	judge: func(r *run, losses int, intact time.Duration) []Violation {
		return Delivered(r.history.Entries, r.history.Given, losses == 0, intact)
	},
	shows: func(h *History) map[string]int {
		n := map[string]int{"second attempts": 0}
		for _, queue := range queues {
			n["entries of "+queue] = 0
		}
		for _, d := range h.Given {
			if d.Outcome == Acked {
				n["entries of "+d.Queue]++
			}
			if d.Attempt > 1 {
				n["second attempts"]++
			}
		}
		return n
	},
}

// produce puts the next of this worker's entries into its queue.
func (w *worker) produce(ctx context.Context) {
	w.entries++
	e := Entry{Queue: queues[w.id%len(queues)], Producer: w.id, N: w.entries, ID: fmt.Sprintf("w%02d-%05d", w.id, w.entries), Call: w.history.Now()}
	var depth int64
	_, known := w.settle(ctx, func(ctx context.Context, s *session) error {
		r, err := client.Call(ctx, s.Client, api.QueueEnqueue, api.QueueEnqueueParams{Queue: e.Queue, ID: e.ID, TTLMS: entryTTL.Milliseconds(), Body: []byte(e.ID)})
		depth = r.Depth
		return err
	})
	e.Return = w.history.Now()
	if !known {
		e.Return = Never
	}
	w.history.add(func() { w.history.Entries = append(w.history.Entries, e) })
	if depth > full {
		w.pause(time.Second) // the consumers are behind
	}
}

// consume takes an entry, at once or in the waiting line. Then it acknowledges the entry, gives it back, does nothing
// about it, or closes the connection.
func (w *worker) consume(ctx context.Context) {
	p := api.QueueDequeueParams{Queue: w.one(queues), LeaseMS: leased.Milliseconds(), Bind: w.bind(), WaitMS: w.waitMS()}
	d, on := w.dequeue(ctx, p)
	if d.ID == "" {
		return
	}
	w.pause(20 * time.Millisecond)
	switch {
	case w.chance(5):
		if p.Bind == api.BindSession {
			d.EndCall = min(w.history.Now(), on.ended())
			w.kill()
		}
	case w.chance(10):
		w.end(ctx, &d, Release, p.Bind, on)
	default:
		w.end(ctx, &d, Ack, p.Bind, on)
	}
	w.history.add(func() { w.history.Given = append(w.history.Given, d.Delivery) })
}

// delivery is a Delivery with the token of its lease.
type delivery struct {
	Delivery
	lease string
}

func (w *worker) dequeue(ctx context.Context, p api.QueueDequeueParams) (delivery, *session) {
	d := delivery{Delivery: Delivery{Queue: p.Queue, Call: w.history.Now(), Lease: leased, EndCall: Never, EndReturn: Never}}
	var on *session
	_, known := w.settle(ctx, func(ctx context.Context, s *session) error {
		r, err := client.Call(ctx, s.Client, api.QueueDequeue, p)
		d.ID, d.Attempt, d.lease, on = r.ID, r.Attempt, r.Lease, s
		if err == nil && r.Found && string(r.Body) != r.ID {
			w.strange("queue", fmt.Sprintf("%s of %s has the body %q", r.ID, p.Queue, r.Body))
		}
		return err
	})
	if !known {
		return delivery{}, nil
	}
	d.Client, d.Return = on.name, w.history.Now()
	return d, on
}

// end ends a delivery. If the lease is bound to a session that has ended, the delivery ended at the latest with the
// session.
func (w *worker) end(ctx context.Context, d *delivery, by Kind, bind string, on *session) {
	d.End, d.Outcome, d.EndCall = by, Unknown, w.history.Now()
	if bind == api.BindSession {
		d.EndCall = min(d.EndCall, on.ended())
	}
	p := api.QueueLeaseParams{Queue: d.Queue, Lease: d.lease}
	_, known := w.settle(ctx, func(ctx context.Context, s *session) error {
		if by == Ack {
			r, err := client.Call(ctx, s.Client, api.QueueAck, p)
			d.Outcome = outcome(r.Reason)
			return err
		}
		r, err := client.Call(ctx, s.Client, api.QueueRelease, p)
		d.Outcome = outcome(r.Reason)
		return err
	})
	d.EndReturn = w.history.Now()
	if !known {
		d.Outcome, d.EndReturn = Unknown, Never
	}
}

// drain takes all entries out of a queue, also those that come back when their leases end.
func (r *run) drain(ctx context.Context, c *client.Client, queue string) error {
	ctx, cancel := context.WithTimeout(ctx, leased+patience)
	defer cancel()
	return until(ctx, func() error {
		for {
			if left, err := r.remove(ctx, c, queue); err != nil || !left {
				return errors.Join(err, drained(ctx, c, queue))
			}
		}
	})
}

// remove takes the first entry out of a queue, and reports whether there was one.
func (r *run) remove(ctx context.Context, c *client.Client, queue string) (bool, error) {
	d := Delivery{Client: "settled", Queue: queue, Call: r.history.Now(), Lease: leased, EndCall: Never, EndReturn: Never}
	got, err := client.Call(ctx, c, api.QueueDequeue, api.QueueDequeueParams{Queue: queue, LeaseMS: leased.Milliseconds(), Bind: api.BindTTL})
	d.Return = r.history.Now()
	if err != nil || !got.Found {
		return false, err
	}
	d.ID, d.Attempt, d.End, d.EndCall, d.Outcome = got.ID, got.Attempt, Ack, r.history.Now(), Unknown
	ack, err := client.Call(ctx, c, api.QueueAck, api.QueueLeaseParams{Queue: queue, Lease: got.Lease})
	if err == nil {
		d.EndReturn, d.Outcome = r.history.Now(), outcome(ack.Reason)
	}
	r.history.add(func() { r.history.Given = append(r.history.Given, d) })
	return true, err
}

func drained(ctx context.Context, c *client.Client, queue string) error {
	s, err := client.Call(ctx, c, api.QueueStats, api.QueueParams{Queue: queue})
	if err == nil && s.Depth+s.Leased > 0 {
		err = fmt.Errorf("%s: %d entries are in it and %d are leased", queue, s.Depth, s.Leased)
	}
	return err
}
