// Package pool is pools of identities: members of which each is leased to one caller at a time, with
// cooldowns, bans and stickiness; and permits: leases of members whose breaker allows a call
// and whose bucket has the cost.
//
// Its invariant: a member is leased to one token at a time, and a permit takes its member,
// its probe and its cost in one script or none of them. The package gets rules and breakers by
// interfaces (MemberRules, MemberBreakers).
package pool

import (
	"context"
	"slices"
	"strconv"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// nounPool is the noun of the leases, losses and metrics of pool members.
const nounPool = "pool"

// Pools is the pool noun: named members, of which each is leased to one caller at a time.
type Pools struct {
	members
	releases coord.Halved[api.PoolReleaseParams, api.PoolReleaseResult]
}

// New makes the noun.
func New(r *lua.Runner, k coord.Keys, l *lease.Leases, n *lease.Lines) *Pools {
	p := &Pools{members: newMembers(nounPool, r, k, l, n)}
	p.releases = p.releasing().Halved()
	return p
}

const (
	// maxMembers is how many members one call may name.
	maxMembers = 1000
	// What one run of a script takes of them; it touches several things for each.
	removeAtOnce, listAtOnce, countAtOnce = 500, 250, 500
	// maxPageBytes bounds the ids and metas of one page, approximately, so that no client
	// rejects it as a reply that is too long.
	maxPageBytes = 1 << 20
)

// The states of a member.
const (
	MemberFree    = "free"
	MemberLeased  = "leased"
	MemberCooling = "cooling"
	MemberBanned  = "banned"
)

// Methods returns the methods of the noun.
func (p *Pools) Methods() []coord.Method {
	byPool := coord.Named(nounPool, "pool")
	return []coord.Method{
		coord.On(api.PoolPut, p.Put, byPool),
		coord.On(api.PoolRemove, p.Remove, byPool),
		coord.On(api.PoolList, p.List, byPool),
		coord.On(api.PoolStats, p.Stats, byPool),
		coord.On(api.PoolPools, p.Pools),
		coord.On(api.PoolExplain, p.Explain, byPool),
		coord.On(api.PoolBan, p.Ban, byPool),
		coord.On(api.PoolUnban, p.Unban, byPool),
		coord.OnParked(api.PoolAcquire, p.AcquireThen, coord.Acquires, coord.Piped, byPool),
		coord.On(api.PoolRenew, p.Renew, byPool, p.renews.Direct),
		coord.On(api.PoolRelease, p.Release, coord.Piped, byPool, p.releases.Direct),
	}
}

// Put adds 1 to 1,000 members to a pool, and replaces the meta of those that are
// there; these keep their state.
func (p *Pools) Put(ctx context.Context, _ coord.Caller, q *api.PoolPutParams) (api.PoolPutResult, error) {
	if err := checkMembers("members", len(q.Members)); err != nil {
		return api.PoolPutResult{}, err
	}
	// All members are added in one run of the script, so that a refusal adds none.
	in := PutIn{Pool: p.keys.poolKeys(q.Pool), Most: api.MaxPoolMembers, Inboxes: p.keys.Inboxes()}
	for _, m := range q.Members {
		in.List = append(in.List, m.ID, m.Meta)
	}
	out, err := lua.Run(ctx, p.runner, PutScript, in, lua.StoredReply{})
	switch {
	case err != nil:
		return api.PoolPutResult{}, coord.Failed("pool "+q.Pool+": put", err)
	case out.Value.Added < 0:
		return api.PoolPutResult{}, coord.Invalid("members: the pool has %d members and may have %d; remove some, or make another pool",
			out.Value.Total, api.MaxPoolMembers)
	}
	return api.PoolPutResult{Added: out.Value.Added, Total: out.Value.Total}, nil
}

// Remove removes 1 to 1,000 members from a pool, with their state. The holder of a removed member
// finds out when it renews.
func (p *Pools) Remove(ctx context.Context, _ coord.Caller, q *api.PoolRemoveParams) (api.PoolRemoveResult, error) {
	if err := checkMembers("ids", len(q.IDs)); err != nil {
		return api.PoolRemoveResult{}, err
	}
	if err := checkTexts("ids", q.IDs); err != nil {
		return api.PoolRemoveResult{}, err
	}
	var r api.PoolRemoveResult
	for part := range slices.Chunk(q.IDs, removeAtOnce) {
		out, err := lua.Run(ctx, p.runner, RemoveScript, RemoveIn{Pool: p.keys.poolKeys(q.Pool), IDs: part}, lua.StoredReply{})
		if err != nil {
			return api.PoolRemoveResult{}, coord.Failed("pool "+q.Pool+": remove", err)
		}
		r.Removed, r.Total = r.Removed+out.Value.Removed, out.Value.Total
	}
	return r, nil
}

func checkMembers(field string, n int) error {
	if n < 1 || n > maxMembers {
		return coord.Invalid("%s: %d are given; give 1 to %d", field, n, maxMembers)
	}
	return nil
}

// checkTexts checks each text of a list.
func checkTexts(field string, list []string) error {
	for i, text := range list {
		if err := coord.CheckText(field+"["+strconv.Itoa(i)+"]", text); err != nil {
			return err
		}
	}
	return nil
}

// Ban takes a member out of use for a time, or with 0 until Unban, and reports
// whether that changed anything. A holder keeps the member until it is given back.
func (p *Pools) Ban(ctx context.Context, _ coord.Caller, q *api.PoolBanParams) (api.PoolBanResult, error) {
	return p.ban(ctx, "ban", BanIn{Member: q.ID, Ban: true, ForMS: q.ForMS}, q.Pool)
}

// Unban lifts the ban of a member, and resets its failures and cooldowns. It
// reports whether that changed anything.
func (p *Pools) Unban(ctx context.Context, _ coord.Caller, q *api.PoolUnbanParams) (api.PoolBanResult, error) {
	return p.ban(ctx, "unban", BanIn{Member: q.ID}, q.Pool)
}

func (p *Pools) ban(ctx context.Context, verb string, in BanIn, pool string) (api.PoolBanResult, error) {
	in.Pool, in.Inboxes = p.keys.poolKeys(pool), p.keys.Inboxes()
	out, err := lua.Run(ctx, p.runner, BanScript, in, lua.StoredReply{})
	switch {
	case err != nil:
		return api.PoolBanResult{}, coord.Failed("pool "+pool+": "+verb, err)
	case !out.Value.Found:
		return api.PoolBanResult{}, noMember("id")
	}
	return api.PoolBanResult{Changed: out.Value.Changed}, nil
}

// Touched makes the views of a pool judge a member again. It is called after a change of the member's breaker by another
// script, since the member may be available earlier than the views have it.
func (p *Pools) Touched(ctx context.Context, pool, member string) error {
	_, err := lua.Run(ctx, p.runner, TouchScript, TouchIn{
		Pool: p.keys.poolKeys(pool), Member: member, Inboxes: p.keys.Inboxes(),
	}, lua.StoredReply{})
	return err
}

// noMember returns the error of a parameter that does not name a member.
func noMember(field string) *coord.Error {
	return coord.NotFound("%s: the pool has no such member; pool.list shows those that there are", field)
}

// Acquire leases the least recently used member that is not leased, cooling or
// banned.
//
// A call with a repeated request id returns what became of the first grant: if it is still held, it is bound to the
// calling session; if it has ended, no member is acquired again.
func (p *Pools) Acquire(ctx context.Context, c coord.Caller, q *api.PoolAcquireParams) (api.PoolAcquireResult, error) {
	return coord.Await(func(done func(api.PoolAcquireResult, error)) { p.AcquireThen(ctx, c, q, done) })
}

// AcquireThen is Acquire without a blocked goroutine: done is called when the call is
// answered, before AcquireThen returns or later.
func (p *Pools) AcquireThen(ctx context.Context, c coord.Caller, q *api.PoolAcquireParams, done func(api.PoolAcquireResult, error)) {
	ask := &api.PermitAcquireParams{
		Pool: q.Pool, LeaseMS: q.LeaseMS, WaitMS: q.WaitMS, Scope: q.Scope, Exclude: q.Exclude, Sticky: q.Sticky, Bind: q.Bind,
	}
	if err := checkAsked(c, ask, "member"); err != nil {
		done(api.PoolAcquireResult{}, err)
		return
	}
	a := &memberAcquisition{}
	a.open(&p.members, c, ask, "", poolScript{p.runner})
	lease.Acquire(ctx, &a.Acquisition, func(r api.PermitAcquireResult, err error) {
		done(api.PoolAcquireResult{
			Acquired: r.Acquired, ID: r.ID, Lease: r.Lease, Fence: r.Fence, Meta: r.Meta, LastUsedAtMS: r.LastUsedAtMS,
			RetryAfterMS: r.RetryAfterMS, NextAtMS: r.NextAtMS, WaitedMS: r.WaitedMS, Replayed: r.Replayed, Reason: r.DeniedBy,
		}, err)
	})
}

// poolScript leases a member that is free.
type poolScript struct{ runner *lua.Runner }

func (s poolScript) ask(in AcquireIn, once lua.StoredReply, run *lua.Asked) {
	lua.Ask(s.runner, AcquireScript, in, once, lua.Patient, run)
}

func (s poolScript) read(ctx context.Context, run *lua.Asked) (lua.Outcome[PermitAcquireOut], error) {
	out, err := lua.Answer(ctx, s.runner, AcquireScript, run)
	return lua.Outcome[PermitAcquireOut]{
		Value: PermitAcquireOut{AcquireOut: out.Value}, Replayed: out.Replayed, Sent: out.Sent,
	}, err
}

// Renew sets the time that a lease has left, which may shorten it. The lease may be bound to
// any session.
func (p *Pools) Renew(ctx context.Context, c coord.Caller, q *api.PoolRenewParams) (api.PoolRenewResult, error) {
	return p.renews.Run(ctx, c, q)
}

// Release gives a member back, bound to any session, and records the outcome of its use. It has a deadline of
// its own: it goes on when its caller is gone. A repeated release returns the same result, since the first
// reply may have been lost.
func (p *Pools) Release(ctx context.Context, c coord.Caller, q *api.PoolReleaseParams) (api.PoolReleaseResult, error) {
	return p.releases.Run(ctx, c, q)
}

func (p *Pools) releasing() lease.Giving[api.PoolReleaseParams, ReleaseIn, ReleaseOut, api.PoolReleaseResult, outcome] {
	return lease.Giving[api.PoolReleaseParams, ReleaseIn, ReleaseOut, api.PoolReleaseResult, outcome]{
		Verb: "release", Leases: p.leases, Runner: p.runner, Script: ReleaseScript,
		Ask: func(_ coord.Caller, q *api.PoolReleaseParams, k *outcome) (id lease.ID, ask coord.Question[ReleaseIn], _ error) {
			l, err := p.releasedLease(q)
			if err != nil {
				return id, ask, err
			}
			*k, ask.In = outcome(q.Outcome), p.releaseOf(q, l)
			return lease.ID{Noun: nounPool, Name: q.Pool, Token: q.Lease}, ask, nil
		},
		Answer: func(ctx context.Context, k *outcome, found lua.Outcome[ReleaseOut]) (api.PoolReleaseResult, coord.Rest[api.PoolReleaseResult]) {
			return p.releaseResult(ctx, *k, found.Value), nil
		},
	}
}

// outcome is the outcome of using a member, as the caller reports it.
type outcome string
