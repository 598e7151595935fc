package client

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// PermitOptions say what member of a pool to take and what it has to be good for.
type PermitOptions struct {
	PoolOptions
	// Rule is the rule, a token_bucket, of which each member has a bucket of its
	// own; empty = no limit.
	Rule string
	// Breaker is the policy of the members' breakers, "default" for the built-in
	// one; empty = breakers are not asked.
	Breaker string
	// Cost is what is taken from the member's bucket; 0 = 1.
	Cost int64
}

// Permit is a member of a pool that this client may use now: its breaker let it
// pass, and its bucket had the cost.
//
// Watch its Context: it ends when the member is no longer this client's.
type Permit struct {
	member

	generation int64
	probe      bool
	remaining  int64
}

var permitKind = heldKind{
	noun: "permit", acquire: api.PermitAcquire.Name, renew: api.PermitRenew.Name, release: api.PermitReport.Name,
	name: "pool", token: "lease", ttl: "lease_ms", named: true, unused: api.OutcomeCancelled,
}

// Generation is that of the member's breaker.
func (p *Permit) Generation() int64 { return p.generation }

// Probe tells whether the breaker is half open, and this permit one of its probes.
func (p *Permit) Probe() bool { return p.probe }

// Remaining is what was left in the member's bucket, rounded down.
func (p *Permit) Remaining() int64 { return p.remaining }

// Report gives the member back and tells its breaker, its cooldown and its pause
// how the work went; it is Release.
func (p *Permit) Report(ctx context.Context, outcome ...Outcome) error {
	return p.Release(ctx, outcome...)
}

// PermitAcquire takes the first member, in the order of their last use, that is
// free, that its breaker lets pass and whose bucket has the cost: at once or in
// turn within o.Wait. Else it returns a *BusyError that says why there is none
// and when one may be had. A permit whose grant comes after ctx has ended is
// given back.
func (c *Client) PermitAcquire(ctx context.Context, pool string, o PermitOptions) (*Permit, error) {
	params := api.PermitAcquireParams{
		Pool: pool, Rule: o.Rule, Breaker: o.Breaker, Cost: o.Cost, LeaseMS: millis(o.Lease), WaitMS: millis(o.Wait),
		Scope: o.Scope, Exclude: o.Exclude, Sticky: o.Sticky, Bind: o.Bind,
	}
	for {
		p := &Permit{member: member{held: held{c: c, kind: &permitKind, name: pool, session: o.Bind != api.BindTTL}}}
		var r api.PermitAcquireResult
		err := c.invoke(ctx, invocation{method: api.PermitAcquire.Name, params: &params, result: &r, lease: &p.held})
		if err != nil {
			p.disown(err)
			return nil, err
		}
		if r.Acquired {
			p.id, p.meta, p.lastUsed = r.ID, r.Meta, instant(r.LastUsedAtMS)
			p.generation, p.probe, p.remaining = r.Generation, r.Probe, r.Remaining
			if err := p.take(ctx, grant{r.Fence, leaseMS(params.LeaseMS), r.WaitedMS}); err != nil {
				return nil, err
			}
			return p, nil
		}
		if !again(ctx, r.Replayed) {
			return nil, memberBusy(&permitKind, pool, r.DeniedBy, r.RetryAfterMS)
		}
	}
}

// PermitDo runs fn while it has a permit, acquired as by PermitAcquire, and
// reports it when fn returns or panics, with the outcome that o.OutcomeOf makes
// of fn's error and the time that fn took. The context that fn gets ends with
// ctx, and when the member is lost: fn has to end then. What fn reported itself
// stays as it said.
//
// It returns fn's error, joined with one that is ErrLost when the member was not
// held to the end; fn is not run, and the error is a *BusyError, when there is no
// permit.
func (c *Client) PermitDo(ctx context.Context, pool string, o PermitOptions, fn func(context.Context, *Permit) error) error {
	p, err := c.PermitAcquire(ctx, pool, o)
	if err != nil {
		return err
	}
	began := time.Now()
	return p.doBy(ctx, func(ctx context.Context) error { return fn(ctx, p) }, func(inside context.Context, ended error) error {
		outcome := o.outcome(ctx, ended)
		if outcome.Took == 0 {
			outcome.Took = time.Since(began)
		}
		return p.Report(inside, outcome)
	})
}
