package client

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// InspectSnapshot returns the state of the sidecar: its configuration, rules, sessions,
// leases, calls and store, without secrets. Errors are those of Call: api.PermissionDenied
// if socket.admin does not allow this user.
func (c *Client) InspectSnapshot(ctx context.Context) (api.InspectResult, error) {
	return Call(ctx, c, api.InspectSnapshot, api.Nothing{})
}

// InspectSidecars returns one page of the sidecars that use the same Redis, prefix and tenant.
// Pass the Cursor of its result to the next call. Errors are those of InspectSnapshot.
func (c *Client) InspectSidecars(ctx context.Context, p api.InspectSidecarsParams) (api.InspectSidecarsResult, error) {
	return Call(ctx, c, api.InspectSidecars, p)
}
