package coord_test

import (
	"context"
	"testing"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/conformance"
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
	return do(ctx, c, "", api.QueueEnqueue, p)
}

func (c *client) QueueDequeue(ctx context.Context, id string, p api.QueueDequeueParams) (api.QueueDequeueResult, error) {
	return do(ctx, c, id, api.QueueDequeue, p)
}

func (c *client) QueueAck(ctx context.Context, p api.QueueLeaseParams) (api.QueueAckResult, error) {
	return do(ctx, c, "", api.QueueAck, p)
}

func (c *client) QueueRelease(ctx context.Context, p api.QueueLeaseParams) (api.QueueReleaseResult, error) {
	return do(ctx, c, "", api.QueueRelease, p)
}

func (c *client) QueueRenew(ctx context.Context, p api.QueueRenewParams) (api.QueueRenewResult, error) {
	return do(ctx, c, "", api.QueueRenew, p)
}

func (c *client) QueuePosition(ctx context.Context, p api.QueueEntryParams) (api.QueuePositionResult, error) {
	return do(ctx, c, "", api.QueuePosition, p)
}

func (c *client) QueueCancel(ctx context.Context, p api.QueueEntryParams) (api.QueueCancelResult, error) {
	return do(ctx, c, "", api.QueueCancel, p)
}

func (c *client) QueueStats(ctx context.Context, p api.QueueParams) (api.QueueStatsResult, error) {
	return do(ctx, c, "", api.QueueStats, p)
}

func (c *client) SeenReserve(ctx context.Context, id string, p api.SeenReserveParams) (api.SeenReserveResult, error) {
	return do(ctx, c, id, api.SeenReserve, p)
}

func (c *client) SeenCommit(ctx context.Context, p api.SeenCommitParams) (api.SeenCommitResult, error) {
	return do(ctx, c, "", api.SeenCommit, p)
}

func (c *client) SeenRelease(ctx context.Context, p api.SeenReleaseParams) (api.SeenReleaseResult, error) {
	return do(ctx, c, "", api.SeenRelease, p)
}
