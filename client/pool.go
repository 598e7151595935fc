package client

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// PoolOptions say what member of a pool to take, and how to hold it. The zero
// PoolOptions take the least recently used one at once, for as long as this
// client is connected, a minute at a time.
type PoolOptions struct {
	// Lease is how long the member is held beyond its last renewal; 0 = a minute.
	Lease time.Duration
	// Bind is api.BindSession (the default: renewed by the sidecar while the
	// connection lives, given back when it closes) or api.BindTTL (neither).
	Bind string
	// Wait is how long to stand in line, at most 60 s and no longer than the
	// context lasts; 0 = not at all.
	Wait time.Duration
	// Scope is what the member is used for, such as a host: least recent use and
	// cooldowns are of each scope alone.
	Scope string
	// Exclude are members not to take, at most 100.
	Exclude []string
	// Sticky is who comes back: the same name gets the same member while it can be
	// had.
	Sticky string
	// OutcomeOf says how the use went for which PoolWith or PermitDo ran a function
	// that returned err; nil, or a zero Outcome from it, is DefaultOutcome's word.
	OutcomeOf func(err error) Outcome
}

// Outcome is how the use of a member went.
type Outcome struct {
	// Kind is one of api.OutcomeOK, OutcomeSoftBlock, OutcomeHardBlock,
	// OutcomeTransport, OutcomeCaptcha, OutcomeFail, OutcomeBan and
	// OutcomeCancelled; empty = ok.
	Kind string
	// Cooldown is how long the member rests in its scope at least.
	Cooldown time.Duration
	// UnbanAfter is how long a ban lasts; 0 = until pool.unban.
	UnbanAfter time.Duration

	// The rest is for permits alone.

	// Status is the HTTP status that came back: one of the rule's penalty codes
	// pauses the member. 0 = not told.
	Status int
	// RetryAfter is how long the server asks to be left alone.
	RetryAfter time.Duration
	// Took is how long the work took, for the breaker's slow rate; 0 = not told.
	Took time.Duration
}

// DefaultOutcome is ok for no error, cancelled when ctx, the caller's own, has
// ended and err is of that, and fail for every other one.
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

// outcome is how a function went that was run for a member.
func (o PoolOptions) outcome(ctx context.Context, err error) Outcome {
	if o.OutcomeOf != nil && !errors.Is(err, errPanicked) {
		said := o.OutcomeOf(err)
		said.Kind = cmp.Or(said.Kind, DefaultOutcome(ctx, err).Kind)
		return said
	}
	return DefaultOutcome(ctx, err)
}

// member is what a PoolLease and a Permit have in common.
type member struct {
	held

	id, meta string
	lastUsed time.Time
}

// ID is the member.
func (m *member) ID() string { return m.id }

// Meta is what was put with the member.
func (m *member) Meta() string { return m.meta }

// LastUsed is when the member was acquired before in its scope, by the Redis
// server's clock; zero = never.
func (m *member) LastUsed() time.Time { return m.lastUsed }

// Release gives the member back and says how its use went; without an outcome it
// is ok. For its errors, and for contexts that have ended, see Lock.Release.
func (m *member) Release(ctx context.Context, outcome ...Outcome) error {
	var r heldAnswer
	return m.giveBack(ctx, m.kind.outcomeParams(outcome), &r, &r)
}

// PoolLease is a member of a pool that this client has.
//
// Watch its Context: it ends when the member is no longer this client's.
type PoolLease struct{ member }

var poolKind = heldKind{
	noun: "pool", acquire: api.PoolAcquire.Name, renew: api.PoolRenew.Name, release: api.PoolRelease.Name,
	name: "pool", token: "lease", ttl: "lease_ms", named: true, unused: api.OutcomeCancelled,
}

// The most that pool.release and permit.report take.
const (
	maxCooldown = 7 * 24 * time.Hour
	maxTold     = 366 * 24 * time.Hour
	maxTook     = 24 * time.Hour
)

// outcomeParams are those of pool.release and permit.report, within their bounds:
// what a server asks for in a header must not keep a member from going back.
func (k *heldKind) outcomeParams(outcome []Outcome) map[string]any {
	if len(outcome) == 0 {
		return nil
	}
	o, m := outcome[0], make(map[string]any)
	if o.Kind != "" {
		m["outcome"] = o.Kind
	}
	told := map[string]int64{
		"cooldown_ms": millis(min(o.Cooldown, maxCooldown)), "unban_after_ms": millis(min(o.UnbanAfter, maxTold)),
	}
	if k == &permitKind {
		told["retry_after_ms"], told["duration_ms"] = millis(min(o.RetryAfter, maxTold)), millis(min(o.Took, maxTook))
		if o.Status >= 100 && o.Status <= 999 {
			told["status"] = int64(o.Status)
		}
	}
	for key, n := range told {
		if n > 0 {
			m[key] = n
		}
	}
	return m
}

// PoolAcquire takes the least recently used member that may be had, at once or in
// turn within o.Wait, or returns a *BusyError that says why there is none and
// when one may be had. A member whose grant comes after ctx has ended is given
// back.
func (c *Client) PoolAcquire(ctx context.Context, pool string, o PoolOptions) (*PoolLease, error) {
	params := api.PoolAcquireParams{
		Pool: pool, LeaseMS: millis(o.Lease), WaitMS: millis(o.Wait), Scope: o.Scope,
		Exclude: o.Exclude, Sticky: o.Sticky, Bind: o.Bind,
	}
	for {
		l := &PoolLease{member{held: held{c: c, kind: &poolKind, name: pool, session: o.Bind != api.BindTTL}}}
		var r api.PoolAcquireResult
		err := c.invoke(ctx, invocation{method: api.PoolAcquire.Name, params: &params, result: &r, lease: &l.held})
		if err != nil {
			l.disown(err)
			return nil, err
		}
		if r.Acquired {
			l.id, l.meta, l.lastUsed = r.ID, r.Meta, instant(r.LastUsedAtMS)
			if err := l.take(ctx, grant{r.Fence, leaseMS(params.LeaseMS), r.WaitedMS}); err != nil {
				return nil, err
			}
			return l, nil
		}
		if !again(ctx, r.Replayed) {
			return nil, memberBusy(&poolKind, pool, r.Reason, r.RetryAfterMS)
		}
	}
}

// again tells whether a refusal says nothing of the pool as it is now: it is about
// a grant that ended with its broken connection before the call was repeated. An
// id of the caller's own is about that grant for good.
func again(ctx context.Context, replayed bool) bool {
	_, own := ctx.Value(requestIDKey{}).(string)
	return replayed && !own
}

func memberBusy(k *heldKind, pool, reason string, retryMS int64) *BusyError {
	return &BusyError{Noun: k.noun, Name: pool, Reason: reason, RetryAfter: time.Duration(retryMS) * time.Millisecond}
}

// leaseMS is how long a member is leased, as the contract has it.
func leaseMS(asked int64) int64 {
	if asked == 0 {
		return api.DefaultMemberLeaseMS
	}
	return asked
}

// instant is a time on the wire; 0 is none.
func instant(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// PoolWith runs fn while it has a member, acquired as by PoolAcquire, and gives
// that back when fn returns or panics, with the outcome that o.OutcomeOf makes of
// fn's error. The context that fn gets ends with ctx, and when the member is
// lost: fn has to end then. What fn released itself stays as it said.
//
// It returns fn's error, joined with one that is ErrLost when the member was not
// held to the end; fn is not run, and the error is a *BusyError, when there is
// none.
func (c *Client) PoolWith(ctx context.Context, pool string, o PoolOptions, fn func(context.Context, *PoolLease) error) error {
	l, err := c.PoolAcquire(ctx, pool, o)
	if err != nil {
		return err
	}
	return l.doBy(ctx, func(ctx context.Context) error { return fn(ctx, l) }, func(inside context.Context, ended error) error {
		return l.Release(inside, o.outcome(ctx, ended))
	})
}

// PoolPut adds members to a pool, and replaces the meta of those that are there;
// these keep their state.
func (c *Client) PoolPut(ctx context.Context, p api.PoolPutParams) (api.PoolPutResult, error) {
	return Call(ctx, c, api.PoolPut, p)
}

// PoolRemove removes members from a pool and forgets their state.
func (c *Client) PoolRemove(ctx context.Context, p api.PoolRemoveParams) (api.PoolRemoveResult, error) {
	return Call(ctx, c, api.PoolRemove, p)
}

// PoolList lists the members of a pool and their states, a page at a time.
func (c *Client) PoolList(ctx context.Context, p api.PoolListParams) (api.PoolListResult, error) {
	return Call(ctx, c, api.PoolList, p)
}

// PoolStats counts the members of a pool: live, cooling, banned and free ones are
// all there are.
func (c *Client) PoolStats(ctx context.Context, p api.PoolStatsParams) (api.PoolStatsResult, error) {
	return Call(ctx, c, api.PoolStats, p)
}

// PoolBan takes a member out of use, for a time or until PoolUnban.
func (c *Client) PoolBan(ctx context.Context, p api.PoolBanParams) (api.PoolBanResult, error) {
	return Call(ctx, c, api.PoolBan, p)
}

// PoolUnban lifts the ban of a member, and forgets its failures and cooldowns.
func (c *Client) PoolUnban(ctx context.Context, p api.PoolUnbanParams) (api.PoolBanResult, error) {
	return Call(ctx, c, api.PoolUnban, p)
}
