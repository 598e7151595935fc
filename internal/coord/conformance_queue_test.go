package coord_test

import (
	"context"
	"testing"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/conformance"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

func TestQueuesConform(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		conformance.Queues(t, newSystem(t, url))
	})
}

func TestSeenConforms(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		conformance.Seen(t, newSystem(t, url))
	})
}

func (c *client) QueueEnqueue(ctx context.Context, p api.QueueEnqueueParams) (api.QueueEnqueueResult, error) {
	e, err := c.queues.Enqueue(ctx, c.caller("", "", nil), coord.QueueEntry{Queue: p.Queue, ID: p.ID, TTL: millis(orDefault(p.TTLMS, 60_000)), Body: p.Body})
	return api.QueueEnqueueResult{Enqueued: e.New, Position: e.Position, Depth: e.Depth}, wire(err)
}

func (c *client) QueueDequeue(ctx context.Context, id string, p api.QueueDequeueParams) (api.QueueDequeueResult, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.open, cancel)()
	d, err := c.queues.Dequeue(ctx, c.caller(id, "queue.dequeue", p), coord.DequeueRequest{
		Queue: p.Queue, Wait: millis(p.WaitMS), Lease: millis(p.LeaseMS), Bound: p.Bind == api.BindSession,
	})
	if err != nil {
		return api.QueueDequeueResult{}, wire(err)
	}
	r := api.QueueDequeueResult{
		Found: d.Found, ID: d.ID, Body: d.Body, Lease: d.Lease, Attempt: d.Attempt, Depth: d.Depth,
		RetryAfterMS: d.RetryAfter.Milliseconds(), WaitedMS: d.Waited.Milliseconds(), Replayed: d.Replayed, Reason: d.Reason,
	}
	if d.Found {
		r.EnqueuedAtMS = d.Came.UnixMilli()
	}
	return r, nil
}

func (c *client) QueueAck(ctx context.Context, p api.QueueLeaseParams) (api.QueueAckResult, error) {
	o, err := c.queues.Ack(ctx, c.caller("", "", nil), p.Queue, p.Lease)
	return api.QueueAckResult{Acked: o.Done, Reason: o.Reason}, wire(err)
}

func (c *client) QueueRelease(ctx context.Context, p api.QueueLeaseParams) (api.QueueReleaseResult, error) {
	o, err := c.queues.Release(ctx, c.caller("", "", nil), p.Queue, p.Lease)
	return api.QueueReleaseResult{Released: o.Done, Reason: o.Reason}, wire(err)
}

func (c *client) QueueRenew(ctx context.Context, p api.QueueRenewParams) (api.QueueRenewResult, error) {
	o, left, err := c.queues.Renew(ctx, p.Queue, p.Lease, millis(p.LeaseMS))
	return api.QueueRenewResult{Renewed: o.Done, LeaseMS: left.Milliseconds(), Reason: o.Reason}, wire(err)
}

func (c *client) QueuePosition(ctx context.Context, p api.QueueEntryParams) (api.QueuePositionResult, error) {
	e, err := c.queues.Position(ctx, p.Queue, p.ID)
	return api.QueuePositionResult{State: e.State, Position: e.Position, Depth: e.Depth}, wire(err)
}

func (c *client) QueueCancel(ctx context.Context, p api.QueueEntryParams) (api.QueueCancelResult, error) {
	was, err := c.queues.Cancel(ctx, p.Queue, p.ID)
	return api.QueueCancelResult{Cancelled: was == coord.EntryWaiting, State: was}, wire(err)
}

func (c *client) QueueStats(ctx context.Context, p api.QueueParams) (api.QueueStatsResult, error) {
	s, err := c.queues.Stats(ctx, p.Queue)
	return api.QueueStatsResult{Depth: s.Depth, Leased: s.Leased, Waiting: s.Waiting, OldestMS: s.Oldest.Milliseconds()}, wire(err)
}

func (c *client) SeenReserve(ctx context.Context, id string, p api.SeenReserveParams) (api.SeenReserveResult, error) {
	r, err := c.seen.Reserve(ctx, c.caller(id, "seen.reserve", p), coord.ReserveRequest{
		Set: p.Set, Key: p.Key, TTL: millis(orDefault(p.TTLMS, 30_000)), Bound: p.Bind != api.BindTTL,
	})
	return api.SeenReserveResult{
		Reserved: r.Reserved, State: r.State, Token: r.Token, RetryAfterMS: r.RetryAfter.Milliseconds(), Replayed: r.Replayed, Reason: r.Reason,
	}, wire(err)
}

func (c *client) SeenCommit(ctx context.Context, p api.SeenCommitParams) (api.SeenCommitResult, error) {
	o, err := c.seen.Commit(ctx, c.caller("", "", nil), p.Set, p.Key, p.Token, millis(orDefault(p.KeepMS, 86_400_000)))
	return api.SeenCommitResult{Committed: o.Done, Reason: o.Reason}, wire(err)
}

func (c *client) SeenRelease(ctx context.Context, p api.SeenReleaseParams) (api.SeenReleaseResult, error) {
	o, err := c.seen.Release(ctx, c.caller("", "", nil), p.Set, p.Key, p.Token)
	return api.SeenReleaseResult{Released: o.Done, Reason: o.Reason}, wire(err)
}
