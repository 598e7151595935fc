package rpc

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

func healthGet(ctx context.Context, k *call, _ *api.Nothing) (api.HealthResult, error) {
	return k.services().Health(ctx), nil
}
