package rpc

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

func queueEnqueue(ctx context.Context, k *call, p *api.QueueEnqueueParams) (api.QueueEnqueueResult, error) {
	e, err := k.services().Queues.Enqueue(ctx, k.caller(), coord.QueueEntry{Queue: p.Queue, ID: p.ID, TTL: coord.Millis(p.TTLMS), Body: p.Body})
	return api.QueueEnqueueResult{Enqueued: e.New, Position: e.Position, Depth: e.Depth, Replayed: e.Replayed}, err
}

func queueDequeue(ctx context.Context, k *call, p *api.QueueDequeueParams, done func(api.QueueDequeueResult, error)) {
	k.services().Queues.DequeueThen(ctx, k.caller(), coord.DequeueRequest{
		Queue: p.Queue, Wait: coord.Millis(p.WaitMS), Lease: coord.Millis(p.LeaseMS), Bound: p.Bind == api.BindSession,
	}, func(d coord.Dequeued, err error) { done(queueDequeued(d), err) })
}

func queueDequeued(d coord.Dequeued) api.QueueDequeueResult {
	r := api.QueueDequeueResult{
		Found: d.Found, ID: d.ID, Body: d.Body, Lease: d.Lease, Attempt: d.Attempt, Depth: d.Depth,
		RetryAfterMS: coord.MillisUp(d.RetryAfter), WaitedMS: d.Waited.Milliseconds(), Replayed: d.Replayed, Reason: d.Reason,
	}
	if d.Found {
		r.EnqueuedAtMS = d.Came.UnixMilli()
	}
	return r
}

func queueAck(ctx context.Context, k *call, p *api.QueueLeaseParams) (api.QueueAckResult, error) {
	o, err := k.services().Queues.Ack(ctx, k.caller(), p.Queue, p.Lease)
	return api.QueueAckResult{Acked: o.Done, Reason: o.Reason}, err
}

func queueRelease(ctx context.Context, k *call, p *api.QueueLeaseParams) (api.QueueReleaseResult, error) {
	o, err := k.services().Queues.Release(ctx, k.caller(), p.Queue, p.Lease)
	return api.QueueReleaseResult{Released: o.Done, Reason: o.Reason}, err
}

func queueRenew(ctx context.Context, k *call, p *api.QueueRenewParams) (api.QueueRenewResult, error) {
	o, left, err := k.services().Queues.Renew(ctx, p.Queue, p.Lease, coord.Millis(p.LeaseMS))
	return api.QueueRenewResult{Renewed: o.Done, LeaseMS: left.Milliseconds(), Reason: o.Reason}, err
}

func queuePosition(ctx context.Context, k *call, p *api.QueueEntryParams) (api.QueuePositionResult, error) {
	e, err := k.services().Queues.Position(ctx, p.Queue, p.ID)
	return api.QueuePositionResult{State: e.State, Position: e.Position, Depth: e.Depth}, err
}

func queueCancel(ctx context.Context, k *call, p *api.QueueEntryParams) (api.QueueCancelResult, error) {
	was, err := k.services().Queues.Cancel(ctx, p.Queue, p.ID)
	return api.QueueCancelResult{Cancelled: was == coord.EntryWaiting, State: was}, err
}

func queueStats(ctx context.Context, k *call, p *api.QueueParams) (api.QueueStatsResult, error) {
	s, err := k.services().Queues.Stats(ctx, p.Queue)
	return api.QueueStatsResult{Depth: s.Depth, Leased: s.Leased, Waiting: s.Waiting, OldestMS: s.Oldest.Milliseconds()}, err
}
