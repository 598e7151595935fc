package client

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// EntryOptions describe an entry of a queue. The zero EntryOptions are an entry without a
// body that waits for a minute.
type EntryOptions struct {
	// TTL is how long the entry waits to be taken; 0 = a minute. At most 30 days.
	TTL time.Duration
	// Body is any bytes for the consumer that takes the entry, at most 256 KiB.
	Body []byte
}

// QueueOptions set how to take an entry. The zero QueueOptions take one if there is one
// now, and it must be acknowledged within a minute.
type QueueOptions struct {
	// Wait is how long to wait for an entry, at most 60 s and no longer than the context
	// lasts; 0 = do not wait. The line is first come, first served, across all pods.
	Wait time.Duration
	// TTL is how long this client has to acknowledge the entry, from when it was taken or last
	// renewed; 0 = a minute. After that the entry is at the head of the queue again.
	TTL time.Duration
	// Bind is api.BindTTL or api.BindSession. With api.BindTTL, the default, the entry is
	// leased for its TTL and for as long as Renew is called. With api.BindSession the sidecar
	// renews the lease while the connection is open, and returns the entry to the head of
	// the queue when the connection closes.
	Bind string
}

// Entry is an entry of a queue that this client holds. Watch its Context: it ends when the
// entry is lost, and another client may have it then.
type Entry struct {
	*held

	id      string
	body    []byte
	attempt int64
	came    time.Time
}

// ID returns the id of the entry.
func (e *Entry) ID() string { return e.id }

// Body returns the body that was enqueued.
func (e *Entry) Body() []byte { return e.body }

// Attempt returns how many times the entry has been taken, counting from 1.
func (e *Entry) Attempt() int64 { return e.attempt }

// EnqueuedAt returns when the entry was enqueued, by the clock of the Redis server.
func (e *Entry) EnqueuedAt() time.Time { return e.came }

// Ack acknowledges the entry: its work is done, and it is removed for good. For its errors,
// and for a context that has ended, see Lock.Release; after an error that is ErrLost
// another client may do the same work. Release returns the entry to the head of the queue.
func (e *Entry) Ack(ctx context.Context) error { return e.endBy(ctx, api.QueueAck.Name, nil) }

var queues = noun[api.QueueDequeueParams, api.QueueDequeueResult]{
	heldKind: heldKind{
		noun: "queue", renew: api.QueueRenew.Name, release: api.QueueRelease.Name, name: "queue", token: "lease", ttl: "lease_ms",
		named: true, unfenced: true,
	},
	acquire: api.QueueDequeue,
	decide: func(p *api.QueueDequeueParams, r *api.QueueDequeueResult) decision {
		return decision{granted: r.Found, replayed: r.Replayed, ttlMS: p.LeaseMS, waitedMS: r.WaitedMS, retryAfterMS: r.RetryAfterMS}
	},
}

// QueueEnqueue adds an entry at the end of a queue. If its id is in the queue already, that
// entry stays unchanged and the result has its position.
func (c *Client) QueueEnqueue(ctx context.Context, queue, id string, o EntryOptions) (api.QueueEnqueueResult, error) {
	return Call(ctx, c, api.QueueEnqueue, api.QueueEnqueueParams{Queue: queue, ID: id, TTLMS: api.Millis(o.TTL), Body: o.Body})
}

// QueueDequeue takes the first entry of a queue, at once or in turn within o.Wait. If there
// is none, the error is a *BusyError. An entry that arrives after ctx has ended is given
// back.
func (c *Client) QueueDequeue(ctx context.Context, queue string, o QueueOptions) (*Entry, error) {
	if o.TTL == 0 {
		o.TTL = time.Minute
	}
	h, r, err := acquire(ctx, c, &queues, terms{name: queue, session: o.Bind == api.BindSession}, api.QueueDequeueParams{
		Queue: queue, WaitMS: api.Millis(o.Wait), LeaseMS: api.Millis(o.TTL), Bind: o.Bind,
	})
	if err != nil {
		return nil, err
	}
	return &Entry{h, r.ID, r.Body, r.Attempt, time.UnixMilli(r.EnqueuedAtMS)}, nil
}

// QueueDo takes the first entry of a queue as QueueDequeue does and runs fn with it. If fn
// returns nil the entry is acknowledged; after an error or a panic it is at the head of
// the queue again. Unless o.Bind says otherwise, the lease is renewed until fn returns.
// The context that fn gets ends with ctx, and also when the entry is lost.
//
// It returns the error of fn, joined with an error that is ErrLost if another client may
// have got the entry too. If there is no entry, fn does not run and the error is a
// *BusyError.
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

// QueuePosition returns whether an entry waits or is leased, and its position.
func (c *Client) QueuePosition(ctx context.Context, queue, id string) (api.QueuePositionResult, error) {
	return Call(ctx, c, api.QueuePosition, api.QueueEntryParams{Queue: queue, ID: id})
}

// QueueCancel removes an entry that is not leased.
func (c *Client) QueueCancel(ctx context.Context, queue, id string) (api.QueueCancelResult, error) {
	return Call(ctx, c, api.QueueCancel, api.QueueEntryParams{Queue: queue, ID: id})
}

// QueueStats counts the entries of a queue, and the calls that wait for one.
func (c *Client) QueueStats(ctx context.Context, queue string) (api.QueueStatsResult, error) {
	return Call(ctx, c, api.QueueStats, api.QueueParams{Queue: queue})
}

// QueueList returns one page of queues. Pass the Cursor of its result to the next call.
func (c *Client) QueueList(ctx context.Context, p api.QueueListParams) (api.QueueListResult, error) {
	return Call(ctx, c, api.QueueList, p)
}
