package client

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// RatelimitAcquire takes from a limit, or returns when it may succeed. A refusal is a result
// with Allowed false, and no error. With WaitMS it returns when its slot comes; if ctx
// ends before that, the slot is given back. Without a deadline in ctx the call has 5 s in
// addition to WaitMS.
//
// A Cost of 0 counts as not set and takes 1; use RatelimitPeek to take nothing. The same holds
// for the Cost of every other call of the Client. CallRaw can send a 0.
func (c *Client) RatelimitAcquire(ctx context.Context, p api.RatelimitParams) (api.RatelimitResult, error) {
	return Call(ctx, c, api.RatelimitAcquire, p)
}

// RatelimitPeek returns what RatelimitAcquire would return, and takes nothing.
func (c *Client) RatelimitPeek(ctx context.Context, p api.RatelimitParams) (api.RatelimitResult, error) {
	return Call(ctx, c, api.RatelimitPeek, p)
}

// RatelimitAcquireMany takes from many limits at once, without waiting. The results are in
// the order of the items, and the result of an item that fails has an Error. With Atomic
// it takes all items or none, and all have the same result and grant.
func (c *Client) RatelimitAcquireMany(ctx context.Context, p api.RatelimitManyParams) ([]api.RatelimitItemResult, error) {
	r, err := Call(ctx, c, api.RatelimitAcquireMany, p)
	return r.Results, err
}

// RatelimitAcquireAny takes from the first of several keys that is allowed now. If there is
// none, Allowed is false and the result names the key that is allowed soonest.
func (c *Client) RatelimitAcquireAny(ctx context.Context, p api.RatelimitAnyParams) (api.RatelimitAnyResult, error) {
	return Call(ctx, c, api.RatelimitAcquireAny, p)
}

// RatelimitRefund gives back what a grant took, if it was not used. A grant can be refunded once.
func (c *Client) RatelimitRefund(ctx context.Context, grant string) (api.RatelimitRefundResult, error) {
	return Call(ctx, c, api.RatelimitRefund, api.RatelimitGrantParams{Grant: grant})
}

// RatelimitDone gives back the permit of a grant under a rule with max_concurrent, and reports
// whether the grant held one.
func (c *Client) RatelimitDone(ctx context.Context, grant string) (bool, error) {
	r, err := Call(ctx, c, api.RatelimitDone, api.RatelimitGrantParams{Grant: grant})
	return r.Done, err
}

// RatelimitReset clears what was taken from a limit under one key, and reports whether
// there was anything.
func (c *Client) RatelimitReset(ctx context.Context, p api.RatelimitResetParams) (bool, error) {
	r, err := Call(ctx, c, api.RatelimitReset, p)
	return r.Reset, err
}
