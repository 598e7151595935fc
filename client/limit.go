package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// ErrLimited: a limit refused. The error is a *LimitError.
var ErrLimited = errors.New("limited")

// LimitError is the refusal of a limit as an error. Wait returns it, and package httplimit for a
// request that it did not send. It contains the whole decision.
type LimitError struct {
	// Key is the key that the limit counts.
	Key string
	api.RatelimitResult
}

// Error implements error.
func (e *LimitError) Error() string {
	after, ok := e.RetryAfter()
	if !ok {
		return fmt.Sprintf("rule %q never admits %q (%s)", e.Rule, api.Printable(e.Key), e.DeniedBy)
	}
	return fmt.Sprintf("rule %q refuses %q (%s): retry after %v", e.Rule, api.Printable(e.Key), e.DeniedBy, after)
}

// Is makes errors.Is(err, ErrLimited) true.
func (e *LimitError) Is(target error) bool { return target == ErrLimited }

// Allow takes 1 from a rule for a key, and reports whether the rule admits it now.
// RatelimitAcquire also takes another cost, or limits without a rule, and returns the whole decision.
//
// Errors are those of Call, such as api.NotFound if there is no such rule. A rule with
// max_concurrent is an error too, because Allow returns no grant by which its caller could give the
// permit back.
func (c *Client) Allow(ctx context.Context, rule, key string) (bool, error) {
	r, err := c.admit(ctx, api.RatelimitParams{Rule: rule, Key: key})
	return r.Allowed, err
}

// Wait takes 1 from a rule for a key, and returns as soon as the rule admits it. If the algorithm
// promises slots, the callers of all pods are admitted first come, first served. Without a
// deadline in ctx, Wait does not give up. It may make several calls, and so it ignores the id
// of WithRequestID.
//
// If the rule will not admit the key before the deadline of ctx, or never, Wait returns a
// *LimitError at once. Its other errors are that of ctx and those of Allow.
func (c *Client) Wait(ctx context.Context, rule, key string) error {
	ctx = withoutRequestID(ctx)
	p := api.RatelimitParams{Rule: rule, Key: key}
	for {
		r, err := c.admit(ctx, p)
		if err != nil || r.Allowed {
			return err
		}
		left := time.Duration(math.MaxInt64)
		if end, ok := ctx.Deadline(); ok {
			left = time.Until(end)
		}
		after, ok := r.RetryAfter()
		if !ok || after > left {
			return &LimitError{key, r}
		}
		// The first call does not wait, because only its result shows whether the algorithm can
		// promise slots. The sidecar refuses a call at once if its slot is further away than wait_ms.
		if p.WaitMS == 0 && after <= longestWait && slices.Contains(api.WaitingAlgorithms, r.Algorithm) {
			p.WaitMS = api.Millis(min(left, longestWait))
			continue
		}
		p.WaitMS = 0
		if err := sleep(ctx, cmp.Or(after, time.Millisecond)); err != nil {
			return fmt.Errorf("%s: %w", api.RatelimitAcquire.Name, err)
		}
	}
}

// longestWait is the longest wait_ms.
const longestWait = time.Minute

// admit is RatelimitAcquire for callers that cannot give a permit back.
func (c *Client) admit(ctx context.Context, p api.RatelimitParams) (api.RatelimitResult, error) {
	r, err := c.RatelimitAcquire(ctx, p)
	if err != nil || !r.Held && r.DeniedBy != "concurrency" {
		return r, err
	}
	if r.Held {
		own, cancel := context.WithTimeout(withoutRequestID(context.WithoutCancel(ctx)), releaseTime)
		defer cancel()
		_, refunded := c.RatelimitRefund(own, r.Grant)
		_, freed := c.RatelimitDone(own, r.Grant)
		if err := errors.Join(refunded, freed); err != nil {
			c.o.Logger.Warn("a grant was not given back; its permit ends with the connection", "rule", p.Rule, "err", err)
		}
	}
	return api.RatelimitResult{}, fmt.Errorf(
		"rule %q has max_concurrent, whose permits must be given back: use RatelimitAcquire and RatelimitDone", p.Rule)
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
