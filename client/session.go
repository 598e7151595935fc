package client

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// Ping calls the sidecar, which answers without Redis, and returns the sidecar's clock.
func (c *Client) Ping(ctx context.Context) (time.Time, error) {
	r, err := Call(ctx, c, api.SessionPing, api.Nothing{})
	return time.UnixMilli(r.NowAtMS), err
}

// Methods returns a description of every method of the sidecar, which may be newer or older
// than this client.
func (c *Client) Methods(ctx context.Context) ([]api.MethodDescription, error) {
	r, err := Call(ctx, c, api.RPCMethods, api.Nothing{})
	return r.Methods, err
}
