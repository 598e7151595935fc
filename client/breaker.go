package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// ErrOpen: a circuit breaker did not let the call through. The error is an
// *OpenError.
var ErrOpen = errors.New("the circuit breaker is open")

// OpenError is the answer to a call that a breaker did not let through.
type OpenError struct {
	// Name is the breaker's, State what it is in: open, half_open when as many
	// probes are out as may be, or forced_open.
	Name, State string
	// RetryAfter is when a call may pass; negative = not before it is reset.
	RetryAfter time.Duration
}

// Error implements error.
func (e *OpenError) Error() string {
	if e.RetryAfter < 0 {
		return fmt.Sprintf("breaker %s: %s until it is reset", e.Name, e.State)
	}
	return fmt.Sprintf("breaker %s: %s for up to %v", e.Name, e.State, e.RetryAfter)
}

// Is makes errors.Is(err, ErrOpen) true.
func (e *OpenError) Is(target error) bool { return target == ErrOpen }

// BreakerOptions say how a call is guarded. The zero BreakerOptions go by the
// policy that is configured for the breaker's name.
type BreakerOptions struct {
	// Pool is the pool whose member the breaker is of; empty = none.
	Pool string
	// Policy is the configured policy to go by; empty = the one for its name.
	Policy string
	// FailMode is closed or open: what decides while Redis is away; empty = the policy's.
	FailMode string
	// IsIgnored reports errors that say nothing of what is behind the breaker, such
	// as a refusal of our own or a "not found"; nil = there are none.
	IsIgnored func(error) bool
}

// BreakerDo calls fn if a breaker lets it through, and reports what became of it:
// a failure when it returns an error or panics. Ignored is what IsIgnored names,
// and whatever fn returns once ctx has ended: who gives up has learnt nothing of
// the other side. A time limit that is to count as a failure belongs into fn.
//
// The error is fn's own, an *OpenError when fn was not called, or the one of the
// question. A report that fails is lost; a probe is then lost with its time.
func (c *Client) BreakerDo(ctx context.Context, name string, o BreakerOptions, fn func(context.Context) error) error {
	g, err := c.BreakerAllow(ctx, api.BreakerAllowParams{Name: name, Pool: o.Pool, Policy: o.Policy, FailMode: o.FailMode})
	switch {
	case err != nil:
		return err
	case !g.Allowed && g.RetryAfterMS < 0:
		return &OpenError{Name: name, State: g.State, RetryAfter: -1}
	case !g.Allowed:
		return &OpenError{Name: name, State: g.State, RetryAfter: time.Duration(g.RetryAfterMS) * time.Millisecond}
	}
	p := api.BreakerReportParams{
		Name: name, Pool: o.Pool, Policy: o.Policy, Generation: g.Generation, Probe: g.Probe,
		Outcome: api.OutcomeFailure, // of a panic
	}
	began := time.Now()
	defer func() {
		p.DurationMS = min(time.Since(began), 24*time.Hour).Milliseconds()
		own, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
		defer cancel()
		_, _ = c.BreakerReport(own, p) // fn's outcome is the caller's, not this one
	}()
	err = fn(ctx)
	switch {
	case err == nil:
		p.Outcome = api.OutcomeSuccess
	case ctx.Err() != nil, o.IsIgnored != nil && o.IsIgnored(err):
		p.Outcome = api.OutcomeIgnored
	}
	return err
}

// BreakerAllow asks whether a call may be made. What is allowed is to be reported,
// with the generation and probe of the answer.
func (c *Client) BreakerAllow(ctx context.Context, p api.BreakerAllowParams) (api.BreakerAllowResult, error) {
	return Call(ctx, c, api.BreakerAllow, p)
}

// BreakerReport tells what became of a call that was allowed.
func (c *Client) BreakerReport(ctx context.Context, p api.BreakerReportParams) (api.BreakerReportResult, error) {
	return Call(ctx, c, api.BreakerReport, p)
}

// BreakerGet says in what state a breaker is, and why.
func (c *Client) BreakerGet(ctx context.Context, p api.BreakerParams) (api.BreakerGetResult, error) {
	return Call(ctx, c, api.BreakerGet, p)
}

// BreakerReset closes a breaker and forgets what it counted, a forced state too.
func (c *Client) BreakerReset(ctx context.Context, p api.BreakerParams) (api.BreakerChangeResult, error) {
	return Call(ctx, c, api.BreakerReset, p)
}

// BreakerForce holds a breaker in a state until BreakerReset.
func (c *Client) BreakerForce(ctx context.Context, p api.BreakerForceParams) (api.BreakerChangeResult, error) {
	return Call(ctx, c, api.BreakerForce, p)
}
