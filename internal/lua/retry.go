package lua

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

// call is one run of a script through all its tries.
type call struct {
	redis.Try
	s *Source
	// repeatable is set if several runs of the script have the effect of one.
	repeatable bool
	// patient is set if the call may wait for the end of an outage that began while it was
	// under way.
	patient bool
	// insists is set if the call may also wait for the end of refusals.
	insists bool

	// refusals is when the time for refusals ends; zero before the first of them.
	refusals time.Time
	// maybe is set if an earlier try may have run.
	maybe bool
}

const (
	// patience bounds the retries of a call without a deadline.
	patience = 5 * time.Second
	// refusedFor is how long a call that Redis refuses is repeated. A failover, or a
	// script that was too slow, has mostly ended by then, and a caller with a fallback
	// gets to it soon.
	refusedFor = 250 * time.Millisecond
	// toAnswer is the part of a deadline that is reserved for returning the error to the
	// caller.
	toAnswer = 100 * time.Millisecond
)

// run sends the call until there is a reply or no further try is allowed.
func (r *Runner) run(ctx context.Context, c *call) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !r.Route(ctx, &c.Try, false) {
		return nil, c.Failure.AsError(ctx, false)
	}
	c.Send(ctx)
	if c.Failure.Verdict == redis.Answered {
		return c.Reply, nil
	}
	return r.again(ctx, c)
}

// again repeats the call after a failure as long as that is allowed.
func (r *Runner) again(ctx context.Context, c *call) (any, error) {
	caller := ctx
	ctx, cancel := bounded(ctx)
	defer cancel()
	pauses := newPauses()
	for {
		f := c.Failure
		c.maybe = c.maybe || f.Verdict == redis.MaybeRun
		lost := f.Verdict == redis.MaybeRun && !c.repeatable
		if f.Verdict <= redis.Ended || lost || ctx.Err() != nil || !r.prepareWithin(ctx, c, pauses) {
			return nil, f.AsError(caller, c.maybe)
		}
		r.tel.Retry(ctx, c.s.Name, f.Why)
		c.Send(ctx)
		switch v := c.Failure.Verdict; {
		case v == redis.Answered:
			return c.Reply, nil
		case v == redis.Ended, v == redis.NotRun && ctx.Err() != nil:
			// The time is over; the failure before this one has the actual reason.
			return nil, f.AsError(caller, c.maybe)
		}
	}
}

// bounded returns ctx with a deadline.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, patience)
}

// newPauses returns the pauses between tries: about 4 ms at first, 250 ms at most.
func newPauses() backoff.BackOff {
	return backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(4*time.Millisecond), backoff.WithMaxInterval(250*time.Millisecond),
		backoff.WithMultiplier(2), backoff.WithRandomizationFactor(0.5), backoff.WithMaxElapsedTime(0))
}

// pause waits for the next of pauses. It returns false if ctx ended first.
func pause(ctx context.Context, pauses backoff.BackOff) bool {
	timer := time.NewTimer(pauses.NextBackOff())
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// quickTries is how often a call is repeated without a pause after NOSCRIPT or MOVED.
// More of them in a row mean that another client flushes scripts as fast as they are
// loaded, that they are loaded into another server than the one that runs them, or that
// the nodes of a cluster do not agree.
const quickTries = 3

// prepareWithin is prepare, within the time for refusals if Redis refused.
func (r *Runner) prepareWithin(ctx context.Context, c *call, pauses backoff.BackOff) bool {
	if !c.Failure.Refused() {
		return r.prepare(ctx, c, pauses)
	}
	if c.refusals.IsZero() {
		c.refusals = time.Now().Add(refusedFor)
		if due, ok := ctx.Deadline(); ok && c.insists {
			c.refusals = due.Add(-min(toAnswer, time.Until(due)/10))
		}
	}
	if c.Failure.Known && !c.insists {
		return false
	}
	ctx, cancel := context.WithDeadline(ctx, c.refusals)
	defer cancel()
	return c.Settled(ctx) && r.prepare(ctx, c, pauses)
}

// prepare does what has to be done before another try and waits until it may be sent. It
// returns false if the time is over.
func (r *Runner) prepare(ctx context.Context, c *call, pauses backoff.BackOff) bool {
	next := c.Recover(ctx)
	quick := next == redis.AtOnce || next == redis.Soon && c.Tries <= quickTries
	if !quick && !pause(ctx, pauses) {
		return false
	}
	// The call was under way when the outage began, so it may wait for its end.
	return r.Route(ctx, &c.Try, c.patient)
}
