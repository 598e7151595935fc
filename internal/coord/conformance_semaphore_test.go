package coord_test

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

func (c *client) LockList(ctx context.Context, p api.LockListParams) (api.LockListResult, error) {
	return do(ctx, c, "", api.LockList, p)
}

func (c *client) LockForceRelease(ctx context.Context, p api.LockForceReleaseParams) (api.LockForceReleaseResult, error) {
	return do(ctx, c, "", api.LockForceRelease, p)
}

func (c *client) SemaphoreAcquire(ctx context.Context, id string, p api.SemaphoreAcquireParams) (api.SemaphoreAcquireResult, error) {
	return do(ctx, c, id, api.SemaphoreAcquire, p)
}

func (c *client) SemaphoreRenew(ctx context.Context, p api.SemaphoreRenewParams) (api.SemaphoreRenewResult, error) {
	return do(ctx, c, "", api.SemaphoreRenew, p)
}

func (c *client) SemaphoreRelease(ctx context.Context, p api.SemaphoreReleaseParams) (api.SemaphoreReleaseResult, error) {
	return do(ctx, c, "", api.SemaphoreRelease, p)
}

func (c *client) SemaphoreGet(ctx context.Context, p api.SemaphoreGetParams) (api.SemaphoreGetResult, error) {
	return do(ctx, c, "", api.SemaphoreGet, p)
}
