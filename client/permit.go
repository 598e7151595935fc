package client

import (
	"cmp"
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// PermitOptions select a member of a pool, and the limit and the breaker that must admit
// it.
type PermitOptions struct {
	PoolOptions
	// Rule names a token_bucket rule, of which each member has its own bucket; empty = no
	// limit.
	Rule string
	// Breaker names the policy of the members' breakers, "default" for the built-in one;
	// empty = no breaker.
	Breaker string
	// Cost is how many tokens the permit takes from the member's bucket; 0 = 1.
	Cost int64
}

// Permit is a member of a pool that this client may use now: the member's breaker allowed
// it, and its bucket had enough for the cost. Watch its Context: it ends when the member
// is lost.
type Permit struct {
	member

	generation int64
	probe      bool
	remaining  int64
}

var permits = noun[api.PermitAcquireParams, api.PermitAcquireResult]{
	heldKind: heldKind{
		noun: "permit", renew: api.PermitRenew.Name, release: api.PermitReport.Name, name: "pool", token: "lease", ttl: "lease_ms",
		named: true, callersID: true, reported: true, unused: api.OutcomeCancelled,
	},
	acquire: api.PermitAcquire,
	decide: func(p *api.PermitAcquireParams, r *api.PermitAcquireResult) decision {
		return decision{
			granted: r.Acquired, replayed: r.Replayed, fence: r.Fence, ttlMS: cmp.Or(p.LeaseMS, api.DefaultMemberLeaseMS),
			waitedMS: r.WaitedMS, reason: r.DeniedBy, retryAfterMS: r.RetryAfterMS,
		}
	},
}

// Generation returns the generation of the member's breaker.
func (p *Permit) Generation() int64 { return p.generation }

// Probe reports whether the breaker is half open and this permit is one of its probes.
func (p *Permit) Probe() bool { return p.probe }

// Remaining returns how many tokens the member's bucket still has, rounded down.
func (p *Permit) Remaining() int64 { return p.remaining }

// PermitAcquire acquires a member that is free, whose breaker allows it and whose bucket
// has enough for the cost: the least recently used one, at once or in turn within o.Wait.
// If there is none, the error is a *BusyError with the reason and the time until one may
// be available. A grant that arrives after ctx has ended is given back.
func (c *Client) PermitAcquire(ctx context.Context, pool string, o PermitOptions) (*Permit, error) {
	h, r, err := acquire(ctx, c, &permits, o.terms(pool), api.PermitAcquireParams{
		Pool: pool, Rule: o.Rule, Breaker: o.Breaker, Cost: o.Cost, LeaseMS: api.Millis(o.TTL), WaitMS: api.Millis(o.Wait),
		Scope: o.Scope, Exclude: o.Exclude, Sticky: o.Sticky, Bind: o.Bind,
	})
	if err != nil {
		return nil, err
	}
	return &Permit{member{h, r.ID, r.Meta, instant(r.LastUsedAtMS)}, r.Generation, r.Probe, r.Remaining}, nil
}

// PermitDo acquires a permit as PermitAcquire does, runs fn, and reports the outcome when
// fn returns or panics: the one that o.OutcomeOf makes of the error of fn, with the time
// that fn took. The context that fn gets ends with ctx, and also when the member is lost:
// fn must end then. If fn has released the permit itself, its outcome stands.
//
// It returns the error of fn, joined with an error that is ErrLost if the member was not
// held to the end. If there is no permit, fn does not run and the error is a *BusyError.
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
		return p.Release(inside, outcome)
	})
}

// PermitExplain returns which member PermitAcquire would get now, or why none and until when.
func (c *Client) PermitExplain(ctx context.Context, p api.PermitExplainParams) (api.PoolExplainResult, error) {
	return Call(ctx, c, api.PermitExplain, p)
}
