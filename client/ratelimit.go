package client

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// RatelimitAcquire takes from a limit, or says when it may succeed: a refusal is
// a result, with Allowed false, and no error. With WaitMS it may return only when
// its slot comes; when ctx ends before, the slot is given back. Without a deadline
// in ctx it has 5 s and WaitMS.
//
// A Cost of 0 is one that was not set, and takes 1: to take nothing, look with
// RatelimitPeek. The same holds for the Cost of every other call of the Client;
// where 0 has to go over the wire, CallRaw sends it.
func (c *Client) RatelimitAcquire(ctx context.Context, p api.RatelimitParams) (api.RatelimitResult, error) {
	return Call(ctx, c, api.RatelimitAcquire, p)
}

// RatelimitPeek answers what RatelimitAcquire would, and takes nothing.
func (c *Client) RatelimitPeek(ctx context.Context, p api.RatelimitParams) (api.RatelimitResult, error) {
	return Call(ctx, c, api.RatelimitPeek, p)
}

// RatelimitAcquireMany takes from many limits at once and answers in the order of
// the items; none of them waits. What fails alone is an Error of its result. With
// Atomic all are taken or none is, and all have the same result and grant.
func (c *Client) RatelimitAcquireMany(ctx context.Context, p api.RatelimitManyParams) ([]api.RatelimitItemResult, error) {
	r, err := Call(ctx, c, api.RatelimitAcquireMany, p)
	return r.Results, err
}

// RatelimitAcquireAny takes for the first of several keys that may go now, or
// answers, with Allowed false, which may go soonest.
func (c *Client) RatelimitAcquireAny(ctx context.Context, p api.RatelimitAnyParams) (api.RatelimitAnyResult, error) {
	return Call(ctx, c, api.RatelimitAcquireAny, p)
}

// RatelimitRefund gives back what a grant took and was not used for, once.
func (c *Client) RatelimitRefund(ctx context.Context, grant string) (api.RatelimitRefundResult, error) {
	return Call(ctx, c, api.RatelimitRefund, api.RatelimitGrantParams{Grant: grant})
}

// RatelimitDone frees the place of a grant under a rule with max_concurrent, and
// reports whether it had one.
func (c *Client) RatelimitDone(ctx context.Context, grant string) (bool, error) {
	r, err := Call(ctx, c, api.RatelimitDone, api.RatelimitGrantParams{Grant: grant})
	return r.Done, err
}

// RatelimitReset forgets what was taken from a limit under one key, and reports
// whether anything was.
func (c *Client) RatelimitReset(ctx context.Context, p api.RatelimitResetParams) (bool, error) {
	r, err := Call(ctx, c, api.RatelimitReset, p)
	return r.Reset, err
}
