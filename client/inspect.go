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

// InspectSidecars returns a page of the sidecars that use the same Redis. Give Cursor of one
// answer to the next call. Errors are those of InspectSnapshot.
func (c *Client) InspectSidecars(ctx context.Context, p api.InspectSidecarsParams) (api.InspectSidecarsResult, error) {
	return Call(ctx, c, api.InspectSidecars, p)
}
