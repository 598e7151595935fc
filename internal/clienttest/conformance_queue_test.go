package clienttest_test

import (
	"context"
	"testing"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/conformance"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

func TestQueuesConformThroughTheSocket(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		conformance.Queues(t, newSystem(t, url))
	})
}

func TestSeenConformsThroughTheSocket(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		conformance.Seen(t, newSystem(t, url))
	})
}

func (w *wireClient) QueueEnqueue(ctx context.Context, p api.QueueEnqueueParams) (api.QueueEnqueueResult, error) {
	return client.Call(ctx, w.Client, api.QueueEnqueue, p)
}

func (w *wireClient) QueueDequeue(ctx context.Context, id string, p api.QueueDequeueParams) (api.QueueDequeueResult, error) {
	return client.Call(w.withID(ctx, id), w.Client, api.QueueDequeue, p)
}

func (w *wireClient) QueueAck(ctx context.Context, p api.QueueLeaseParams) (api.QueueAckResult, error) {
	return client.Call(ctx, w.Client, api.QueueAck, p)
}

func (w *wireClient) QueueRelease(ctx context.Context, p api.QueueLeaseParams) (api.QueueReleaseResult, error) {
	return client.Call(ctx, w.Client, api.QueueRelease, p)
}

func (w *wireClient) QueueRenew(ctx context.Context, p api.QueueRenewParams) (api.QueueRenewResult, error) {
	return client.Call(ctx, w.Client, api.QueueRenew, p)
}

func (w *wireClient) QueuePosition(ctx context.Context, p api.QueueEntryParams) (api.QueuePositionResult, error) {
	return client.Call(ctx, w.Client, api.QueuePosition, p)
}

func (w *wireClient) QueueCancel(ctx context.Context, p api.QueueEntryParams) (api.QueueCancelResult, error) {
	return client.Call(ctx, w.Client, api.QueueCancel, p)
}

func (w *wireClient) QueueStats(ctx context.Context, p api.QueueParams) (api.QueueStatsResult, error) {
	return client.Call(ctx, w.Client, api.QueueStats, p)
}

func (w *wireClient) SeenReserve(ctx context.Context, id string, p api.SeenReserveParams) (api.SeenReserveResult, error) {
	return client.Call(w.withID(ctx, id), w.Client, api.SeenReserve, p)
}

func (w *wireClient) SeenCommit(ctx context.Context, p api.SeenCommitParams) (api.SeenCommitResult, error) {
	return client.Call(ctx, w.Client, api.SeenCommit, p)
}

func (w *wireClient) SeenRelease(ctx context.Context, p api.SeenReleaseParams) (api.SeenReleaseResult, error) {
	return client.Call(ctx, w.Client, api.SeenRelease, p)
}
