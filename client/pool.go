package client

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// PoolOptions select a member of a pool, and set how to hold it. The zero
// PoolOptions take the least recently used member if one is free now. It is held for as
// long as this client is connected, and renewed for a minute each time.
type PoolOptions struct {
	// TTL is how long the lease of the member outlives its last renewal; 0 = a minute.
	TTL time.Duration
	// Bind is api.BindSession or api.BindTTL. With api.BindSession, the default, the
	// sidecar renews the lease while the connection is open, and gives the member back when
	// the connection closes. With api.BindTTL it does neither.
	Bind string
	// Wait is how long to wait in line, at most 60 s and no longer than the context
	// lasts; 0 = do not wait.
	Wait time.Duration
	// Scope is what the member is used for, for example a host. Each scope has its own
	// order of last use and its own cooldowns.
	Scope string
	// Exclude lists members that must not be taken, at most 100.
	Exclude []string
	// Sticky is a name for the caller. The same name gets the same member as long as that
	// one is available.
	Sticky string
	// OutcomeOf returns the outcome of a use, given the error of the function that PoolDo
	// or PermitDo ran. If it is nil, or returns an Outcome without a Kind, DefaultOutcome
	// decides.
	OutcomeOf func(err error) Outcome
}

// Outcome is how the use of a member went.
type Outcome struct {
	// Kind is one of api.OutcomeOK, OutcomeSoftBlock, OutcomeHardBlock,
	// OutcomeTransport, OutcomeCaptcha, OutcomeFail, OutcomeBan and
	// OutcomeCancelled; empty = ok.
	Kind string
	// Cooldown is the least time that the member cools down in its scope.
	Cooldown time.Duration
	// UnbanAfter is how long a ban lasts; 0 = until pool.unban.
	UnbanAfter time.Duration

	// The other fields are for permits only.

	// Status is the HTTP status of the response; 0 = unknown. A status among the rule's
	// penalty codes pauses the member.
	Status int
	// RetryAfter is the Retry-After of the server's response; 0 = unknown.
	RetryAfter time.Duration
	// Took is how long the work took, for the breaker's slow rate; 0 = unknown.
	Took time.Duration
}

// DefaultOutcome returns the outcome for the error of a function that used a member: ok if err is
// nil, cancelled if ctx, the caller's context, has ended and err is its error or cause, and fail
// for every other error.
func DefaultOutcome(ctx context.Context, err error) Outcome {
	switch {
	case err == nil:
		return Outcome{Kind: api.OutcomeOK}
	case ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))):
		return Outcome{Kind: api.OutcomeCancelled}
	default:
		return Outcome{Kind: api.OutcomeFail}
	}
}

// outcome returns the outcome of a function that ran with a member and returned err.
func (o PoolOptions) outcome(ctx context.Context, err error) Outcome {
	if o.OutcomeOf != nil && !errors.Is(err, errPanicked) {
		outcome := o.OutcomeOf(err)
		outcome.Kind = cmp.Or(outcome.Kind, DefaultOutcome(ctx, err).Kind)
		return outcome
	}
	return DefaultOutcome(ctx, err)
}

// member is the common part of a Member and a Permit.
type member struct {
	*held

	id, meta string
	lastUsed time.Time
}

// ID returns the id of the member.
func (m *member) ID() string { return m.id }

// Meta returns the text that was stored with the member.
func (m *member) Meta() string { return m.meta }

// LastUsed returns when the member was last acquired in its scope before this lease, by the
// clock of the Redis server; zero = never.
func (m *member) LastUsed() time.Time { return m.lastUsed }

// Release gives the member back and reports the outcome of its use; without an outcome
// it is ok. For its errors, and for a context that has ended, see Lock.Release.
func (m *member) Release(ctx context.Context, outcome ...Outcome) error {
	return m.endBy(ctx, m.kind.release, m.kind.outcomeParams(outcome))
}

// Member is a member of a pool that this client holds. Watch its Context: it ends when
// the member is lost.
type Member struct{ member }

var pools = noun[api.PoolAcquireParams, api.PoolAcquireResult]{
	heldKind: heldKind{
		noun: "pool", renew: api.PoolRenew.Name, release: api.PoolRelease.Name, name: "pool", token: "lease", ttl: "lease_ms",
		named: true, callersID: true, unused: api.OutcomeCancelled,
	},
	acquire: api.PoolAcquire,
	decide: func(p *api.PoolAcquireParams, r *api.PoolAcquireResult) decision {
		return decision{
			granted: r.Acquired, replayed: r.Replayed, fence: r.Fence, ttlMS: cmp.Or(p.LeaseMS, api.DefaultMemberLeaseMS),
			waitedMS: r.WaitedMS, reason: r.Reason, retryAfterMS: r.RetryAfterMS,
		}
	},
}

// The largest values that pool.release and permit.report accept.
const (
	maxCooldown = 7 * 24 * time.Hour
	maxReported = 366 * 24 * time.Hour
	maxTook     = 24 * time.Hour
)

// outcomeParams returns the parameters of pool.release and permit.report for an outcome. It
// cuts them to the accepted bounds, because a value that a server sent in a header must not
// prevent the release.
func (k *heldKind) outcomeParams(outcome []Outcome) map[string]any {
	if len(outcome) == 0 {
		return nil
	}
	o, m := outcome[0], make(map[string]any)
	if o.Kind != "" {
		m["outcome"] = o.Kind
	}
	numbers := map[string]int64{
		"cooldown_ms": api.Millis(min(o.Cooldown, maxCooldown)), "unban_after_ms": api.Millis(min(o.UnbanAfter, maxReported)),
	}
	if k.reported {
		numbers["retry_after_ms"], numbers["duration_ms"] = api.Millis(min(o.RetryAfter, maxReported)), api.Millis(min(o.Took, maxTook))
		if o.Status >= 100 && o.Status <= 999 {
			numbers["status"] = int64(o.Status)
		}
	}
	for key, n := range numbers {
		if n > 0 {
			m[key] = n
		}
	}
	return m
}

// PoolAcquire acquires the least recently used member that is available, at once or in turn
// within o.Wait. If there is none, the error is a *BusyError with the reason and the time
// until one may be available. A grant that arrives after ctx has ended is given back.
func (c *Client) PoolAcquire(ctx context.Context, pool string, o PoolOptions) (*Member, error) {
	h, r, err := acquire(ctx, c, &pools, o.terms(pool), api.PoolAcquireParams{
		Pool: pool, LeaseMS: api.Millis(o.TTL), WaitMS: api.Millis(o.Wait), Scope: o.Scope,
		Exclude: o.Exclude, Sticky: o.Sticky, Bind: o.Bind,
	})
	if err != nil {
		return nil, err
	}
	return &Member{member{h, r.ID, r.Meta, instant(r.LastUsedAtMS)}}, nil
}

func (o PoolOptions) terms(pool string) terms {
	return terms{name: pool, session: o.Bind != api.BindTTL}
}

// instant converts a time on the wire, where 0 means none.
func instant(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// PoolDo acquires a member as PoolAcquire does, runs fn, and gives the member back when
// fn returns or panics, with the outcome that o.OutcomeOf makes of the error of fn. The
// context that fn gets ends with ctx, and also when the member is lost: fn must end then.
// If fn has released the member itself, its outcome stands.
//
// It returns the error of fn, joined with an error that is ErrLost if the member was not
// held to the end. If there is no member, fn does not run and the error is a *BusyError.
func (c *Client) PoolDo(ctx context.Context, pool string, o PoolOptions, fn func(context.Context, *Member) error) error {
	l, err := c.PoolAcquire(ctx, pool, o)
	if err != nil {
		return err
	}
	return l.doBy(ctx, func(ctx context.Context) error { return fn(ctx, l) }, func(inside context.Context, ended error) error {
		return l.Release(inside, o.outcome(ctx, ended))
	})
}

// PoolPut adds members to a pool. A member that exists keeps its state and gets the new
// meta.
func (c *Client) PoolPut(ctx context.Context, p api.PoolPutParams) (api.PoolPutResult, error) {
	return Call(ctx, c, api.PoolPut, p)
}

// PoolRemove removes members from a pool and deletes their state.
func (c *Client) PoolRemove(ctx context.Context, p api.PoolRemoveParams) (api.PoolRemoveResult, error) {
	return Call(ctx, c, api.PoolRemove, p)
}

// PoolList returns one page of the members of a pool with their states. Pass the Cursor of its
// result to the next call.
func (c *Client) PoolList(ctx context.Context, p api.PoolListParams) (api.PoolListResult, error) {
	return Call(ctx, c, api.PoolList, p)
}

// PoolStats counts the members of a pool. Every member is leased, cooling, banned or free.
func (c *Client) PoolStats(ctx context.Context, p api.PoolStatsParams) (api.PoolStatsResult, error) {
	return Call(ctx, c, api.PoolStats, p)
}

// PoolBan takes a member out of use, for a time or until PoolUnban. It reports whether that
// changed the member's ban.
func (c *Client) PoolBan(ctx context.Context, p api.PoolBanParams) (changed bool, err error) {
	r, err := Call(ctx, c, api.PoolBan, p)
	return r.Changed, err
}

// PoolUnban lifts the ban of a member, clears its failures and cooldowns, and reports whether
// there were any.
func (c *Client) PoolUnban(ctx context.Context, pool, id string) (changed bool, err error) {
	r, err := Call(ctx, c, api.PoolUnban, api.PoolUnbanParams{Pool: pool, ID: id})
	return r.Changed, err
}

// PoolPools returns one page of pools, with counts of their members. Pass the Cursor of its result
// to the next call.
func (c *Client) PoolPools(ctx context.Context, p api.PoolPoolsParams) (api.PoolPoolsResult, error) {
	return Call(ctx, c, api.PoolPools, p)
}

// PoolExplain returns which member PoolAcquire would get now, or why none and until when.
func (c *Client) PoolExplain(ctx context.Context, p api.PoolExplainParams) (api.PoolExplainResult, error) {
	return Call(ctx, c, api.PoolExplain, p)
}
