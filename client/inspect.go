package client

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// InspectSnapshot shows what the sidecar is, has in force, holds and does now,
// without secrets. Errors are those of Call; api.PermissionDenied where
// socket.admin keeps this user out.
func (c *Client) InspectSnapshot(ctx context.Context) (api.InspectResult, error) {
	return Call(ctx, c, api.InspectSnapshot, api.Nothing{})
}
