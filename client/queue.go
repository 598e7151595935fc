package client

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// EntryOptions say what is put into a queue. The zero EntryOptions are an entry
// without a body that waits for a minute.
type EntryOptions struct {
	// TTL is how long it waits to be taken; 0 = a minute. At most 30 days.
	TTL time.Duration
	// Body is given to who takes it, at most 256 KiB.
	Body []byte
}

// QueueOptions say how to take an entry. The zero QueueOptions take one at once,
// to be acknowledged within a minute.
type QueueOptions struct {
	// Wait is how long to wait for one, at most 60 s and no longer than the context
	// lasts; 0 = not at all. First come, first served, across all pods.
	Wait time.Duration
	// Lease is how long it is this client's to acknowledge; 0 = a minute. Then it is
	// at the head of the queue again.
	Lease time.Duration
	// Bind is api.BindTTL (the default: it is leased for Lease, and for as long as
	// Renew is called) or api.BindSession (renewed by the sidecar while the
	// connection lives, and back at the head when it closes).
	Bind string
}

// Entry is an entry that this client has. Watch its Context: it ends when the
// entry is no longer this client's, and someone else may have it.
type Entry struct {
	held

	id      string
	body    []byte
	attempt int64
	came    time.Time
}

// ID is the entry's.
func (e *Entry) ID() string { return e.id }

// Body is what was put with it.
func (e *Entry) Body() []byte { return e.body }

// Attempt is how often it was taken, from 1.
func (e *Entry) Attempt() int64 { return e.attempt }

// EnqueuedAt is when it came, by the Redis server's clock.
func (e *Entry) EnqueuedAt() time.Time { return e.came }

// Ack says that the entry was dealt with: it does not come back. For its errors,
// and for contexts that have ended, see Lock.Release; after one that is ErrLost
// someone else may deal with it too. Release puts it back at the head instead.
func (e *Entry) Ack(ctx context.Context) error {
	var r heldAnswer
	return e.endBy(ctx, api.QueueAck.Name, nil, &r, &r)
}

var queueKind = heldKind{
	noun: "queue", acquire: api.QueueDequeue.Name, renew: api.QueueRenew.Name, release: api.QueueRelease.Name,
	name: "queue", token: "lease", ttl: "lease_ms", named: true, unfenced: true,
}

// QueueEnqueue puts an entry at the end of a queue. One whose id is there already
// stays as it is, and the answer says where.
func (c *Client) QueueEnqueue(ctx context.Context, queue, id string, o EntryOptions) (api.QueueEnqueueResult, error) {
	return Call(ctx, c, api.QueueEnqueue, api.QueueEnqueueParams{Queue: queue, ID: id, TTLMS: millis(o.TTL), Body: o.Body})
}

// QueueDequeue takes the first entry of a queue, at once or in turn within
// o.Wait, or returns a *BusyError when there is none. One that comes after ctx has
// ended is put back.
func (c *Client) QueueDequeue(ctx context.Context, queue string, o QueueOptions) (*Entry, error) {
	if o.Lease == 0 {
		o.Lease = time.Minute
	}
	params := api.QueueDequeueParams{Queue: queue, WaitMS: millis(o.Wait), LeaseMS: millis(o.Lease), Bind: o.Bind}
	for {
		e := &Entry{held: held{c: c, kind: &queueKind, name: queue, session: o.Bind == api.BindSession}}
		var r api.QueueDequeueResult
		err := c.invoke(ctx, invocation{method: api.QueueDequeue.Name, params: &params, result: &r, lease: &e.held, ownID: true})
		switch {
		case err != nil:
			e.disown(err)
			return nil, err
		case r.Found:
			if err := e.take(ctx, grant{ttlMS: params.LeaseMS, waitedMS: r.WaitedMS}); err != nil {
				return nil, err
			}
			e.id, e.body, e.attempt, e.came = r.ID, r.Body, r.Attempt, time.UnixMilli(r.EnqueuedAtMS)
			return e, nil
		}
		e.forget()
		// What went back with its broken connection says nothing of what is there now.
		if !r.Replayed {
			return nil, &BusyError{Noun: queueKind.noun, Name: queue, RetryAfter: time.Duration(r.RetryAfterMS) * time.Millisecond}
		}
	}
}

// QueueDo runs fn with the first entry of a queue, taken as by QueueDequeue, and
// acknowledges it when fn returns nil; after an error or a panic it is at the head
// again. Unless o.Bind says otherwise it is renewed until fn returns. The context
// that fn gets ends with ctx, and when the entry is lost.
//
// It returns fn's error, joined with one that is ErrLost when someone else may
// have got the entry too; fn is not run, and the error is a *BusyError, when
// there is none.
func (c *Client) QueueDo(ctx context.Context, queue string, o QueueOptions, fn func(context.Context, *Entry) error) error {
	if o.Bind == "" {
		o.Bind = api.BindSession
	}
	e, err := c.QueueDequeue(ctx, queue, o)
	if err != nil {
		return err
	}
	return e.doBy(ctx, func(ctx context.Context) error { return fn(ctx, e) }, func(ctx context.Context, err error) error {
		if err != nil {
			return e.Release(ctx)
		}
		return e.Ack(ctx)
	})
}
