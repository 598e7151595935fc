package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// ErrOpen: a circuit breaker did not allow the call. The error is an
// *OpenError.
var ErrOpen = errors.New("the circuit breaker is open")

// OpenError is the refusal of a call by a breaker.
type OpenError struct {
	// Name is the name of the breaker. State is open, forced_open, or half_open if all its
	// probes are in use.
	Name, State string
	// RetryAfter is the time until a call may be allowed; negative = not before BreakerReset.
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

// BreakerOptions set how to guard a call. The zero BreakerOptions use the policy that is
// configured for the name of the breaker.
type BreakerOptions struct {
	// Pool is the pool, if the breaker belongs to a member of one.
	Pool string
	// Policy names a configured policy; empty = the one for the name of the breaker.
	Policy string
	// FailMode is closed or open and decides while Redis is unreachable; empty = that of the
	// policy.
	FailMode string
	// IsIgnored reports whether an error shows nothing about the health of the guarded
	// service, for example a refusal on the caller's side or a "not found"; nil = no error
	// is ignored.
	IsIgnored func(error) bool
}

// BreakerDo calls fn if a breaker allows it, and reports a failure if fn returns an error
// or panics. It ignores the errors that IsIgnored selects, and every result after ctx has
// ended, because a caller that gave up does not know the service's outcome. To count a timeout
// as a failure, set it in fn.
//
// It returns the error of fn, an *OpenError if fn was not called, or the error of asking the
// breaker. A report that fails is not repeated; a probe then ends with its TTL.
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
		Outcome: api.OutcomeFailure, // stays so if fn panics
	}
	began := time.Now()
	defer func() {
		p.DurationMS = min(time.Since(began), 24*time.Hour).Milliseconds()
		own, cancel := context.WithTimeout(withoutRequestID(context.WithoutCancel(ctx)), releaseTime)
		defer cancel()
		_, _ = c.BreakerReport(own, p) // the caller gets the error of fn, not that of the report
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

// BreakerAllow asks whether a call may be made. Report the outcome of an allowed call by
// BreakerReport, with the Generation and the Probe of the result.
func (c *Client) BreakerAllow(ctx context.Context, p api.BreakerAllowParams) (api.BreakerAllowResult, error) {
	return Call(ctx, c, api.BreakerAllow, p)
}

// BreakerReport reports the outcome of a call that was allowed.
func (c *Client) BreakerReport(ctx context.Context, p api.BreakerReportParams) (api.BreakerReportResult, error) {
	return Call(ctx, c, api.BreakerReport, p)
}

// BreakerGet returns the state of a breaker and the counts that led to it.
func (c *Client) BreakerGet(ctx context.Context, p api.BreakerParams) (api.BreakerGetResult, error) {
	return Call(ctx, c, api.BreakerGet, p)
}

// BreakerReset closes a breaker, clears its counts and ends a forced state.
func (c *Client) BreakerReset(ctx context.Context, p api.BreakerParams) (api.BreakerChangeResult, error) {
	return Call(ctx, c, api.BreakerReset, p)
}

// BreakerForce sets a breaker to a state until BreakerReset.
func (c *Client) BreakerForce(ctx context.Context, p api.BreakerForceParams) (api.BreakerChangeResult, error) {
	return Call(ctx, c, api.BreakerForce, p)
}

// BreakerList returns one page of breakers. Pass the Cursor of its result to the next call.
func (c *Client) BreakerList(ctx context.Context, p api.BreakerListParams) (api.BreakerListResult, error) {
	return Call(ctx, c, api.BreakerList, p)
}

// BreakerExplain returns whether a breaker would allow a call now, and if not, why and until when.
func (c *Client) BreakerExplain(ctx context.Context, p api.BreakerParams) (api.BreakerExplainResult, error) {
	return Call(ctx, c, api.BreakerExplain, p)
}
