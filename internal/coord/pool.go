package coord

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// nounPool is the noun of a pool member's leases, losses and metrics.
const nounPool = "pool"

// Pools are named members of which each is one caller's at a time.
type Pools struct{ members }

// NewPools makes the noun.
func NewPools(r *lua.Runner, k Keys, l *Leases, n *Lines) *Pools {
	return &Pools{members{nounPool, r, k, l, n}}
}

// PoolMember is a member, and what is given to who acquires it.
type PoolMember struct{ ID, Meta string }

// PoolCount is how many members a call changed, and how many there are now.
type PoolCount struct{ Changed, Total int64 }

const (
	// maxMembers is how many members one call may name.
	maxMembers = 1000
	maxMeta    = 4096
	// What one run of a script takes of them; it touches several things for each.
	removeAtOnce, listAtOnce, countAtOnce = 500, 250, 500
	// maxPageBytes is about how much of ids and metas one page has, so that no client
	// takes it for a reply that is too long.
	maxPageBytes = 1 << 20
)

// The states of a member.
const (
	MemberFree    = "free"
	MemberLeased  = "leased"
	MemberCooling = "cooling"
	MemberBanned  = "banned"
)

// Put adds 1 to 1,000 members to a pool, and replaces the meta of those that are
// there; these keep their state.
func (p *Pools) Put(ctx context.Context, pool string, all []PoolMember) (PoolCount, error) {
	if err := checkMembers(pool, "members", len(all)); err != nil {
		return PoolCount{}, err
	}
	for i, m := range all {
		if err := checkText(fmt.Sprintf("members[%d].id", i), m.ID); err != nil {
			return PoolCount{}, err
		}
		if n := len(m.Meta); n > maxMeta {
			return PoolCount{}, invalid("members[%d].meta: %d bytes are too many; give at most %d, such as the key of what is longer", i, n, maxMeta)
		}
	}
	// All in one run: a refusal leaves nothing behind.
	in := lua.PoolPutIn{PoolKeys: p.keys.poolKeys(pool), Most: api.MaxPoolMembers, Inboxes: p.keys.inboxes()}
	for _, m := range all {
		in.List = append(in.List, m.ID, m.Meta)
	}
	out, err := lua.Run(ctx, p.runner, lua.PoolPut, in, lua.Latch{})
	switch {
	case err != nil:
		return PoolCount{}, failed("pool "+pool+": put", err)
	case out.Value.Added < 0:
		return PoolCount{}, invalid("members: the pool has %d members and may have %d; remove some, or make another pool", out.Value.Total, api.MaxPoolMembers)
	}
	return PoolCount{Changed: out.Value.Added, Total: out.Value.Total}, nil
}

// Remove takes 1 to 1,000 members out of a pool and forgets their state. Who has
// one is told when it renews.
func (p *Pools) Remove(ctx context.Context, pool string, ids []string) (PoolCount, error) {
	if err := checkMembers(pool, "ids", len(ids)); err != nil {
		return PoolCount{}, err
	}
	for i, id := range ids {
		if err := checkText(fmt.Sprintf("ids[%d]", i), id); err != nil {
			return PoolCount{}, err
		}
	}
	var c PoolCount
	for part := range slices.Chunk(ids, removeAtOnce) {
		out, err := lua.Run(ctx, p.runner, lua.PoolRemove, lua.PoolRemoveIn{PoolKeys: p.keys.poolKeys(pool), IDs: part}, lua.Latch{})
		if err != nil {
			return PoolCount{}, failed("pool "+pool+": remove", err)
		}
		c.Changed, c.Total = c.Changed+out.Value.Removed, out.Value.Total
	}
	return c, nil
}

func checkMembers(pool, field string, n int) error {
	if err := checkText("pool", pool); err != nil {
		return err
	}
	if n < 1 || n > maxMembers {
		return invalid("%s: %d are given; give 1 to %d", field, n, maxMembers)
	}
	return nil
}

// Ban takes a member out of use for a time, or with 0 until Unban, and reports
// whether it was not so before. Who has it keeps it until it is given back.
func (p *Pools) Ban(ctx context.Context, pool, id string, d time.Duration) (bool, error) {
	if d < 0 || d > maxPeriod {
		return false, outOfRange("for_ms", d, 0, maxPeriod)
	}
	return p.ban(ctx, "ban", lua.PoolBanIn{Member: id, Ban: true, ForMS: d.Milliseconds()}, pool)
}

// Unban lifts the ban of a member, and forgets its failures and cooldowns. It
// reports whether there was anything to lift.
func (p *Pools) Unban(ctx context.Context, pool, id string) (bool, error) {
	return p.ban(ctx, "unban", lua.PoolBanIn{Member: id}, pool)
}

func (p *Pools) ban(ctx context.Context, verb string, in lua.PoolBanIn, pool string) (bool, error) {
	if err := checkText("pool", pool); err != nil {
		return false, err
	}
	if err := checkText("id", in.Member); err != nil {
		return false, err
	}
	in.PoolKeys, in.Inboxes = p.keys.poolKeys(pool), p.keys.inboxes()
	out, err := lua.Run(ctx, p.runner, lua.PoolBan, in, lua.Latch{})
	if err != nil {
		return false, failed("pool "+pool+": "+verb, err)
	}
	if !out.Value.Found {
		return false, noMember("id")
	}
	return out.Value.Changed, nil
}

// noMember says that what a parameter names is no member.
func noMember(field string) *Error {
	return notFound("%s: the pool has no such member; pool.list shows those that there are", field)
}

// Acquire leases the least recently used member that is not leased, cooling or
// banned.
//
// A repeated request id answers what became of its grant: a live one is bound to
// the calling session, a dead one is not taken again.
func (p *Pools) Acquire(ctx context.Context, c Caller, r MemberRequest) (MemberGrant, error) {
	return Await(func(done func(MemberGrant, error)) { p.AcquireThen(ctx, c, r, done) })
}

// AcquireThen is Acquire as that of Locks.
func (p *Pools) AcquireThen(ctx context.Context, c Caller, r MemberRequest, done func(MemberGrant, error)) {
	if err := r.check(c, "member"); err != nil {
		done(MemberGrant{}, err)
		return
	}
	p.acquire(ctx, p.ask(c, r, "", "", ""), func(ctx context.Context, in lua.PoolAcquireIn, once lua.Latch) (lua.PoolAcquireOut, bool, time.Time, error) {
		out, err := lua.Run(ctx, p.runner, lua.PoolAcquire, in, once)
		return out.Value, out.Replayed, out.Sent, err
	}, done)
}

// Renew has a lease, in whatever session, live so long from now on, shorter or
// longer than before.
func (p *Pools) Renew(ctx context.Context, _ Caller, pool, lease string, d time.Duration) (MemberRenewal, error) {
	return p.renewOne(ctx, pool, lease, d)
}

// Release gives a member back and says how it did, in whatever session. It runs on
// its own time, and repeating it answers the same.
func (p *Pools) Release(ctx context.Context, c Caller, r MemberRelease) (MemberReleased, error) {
	return p.releaseBy(ctx, c, r, func(ctx context.Context, l memberLease) (lua.PoolReleaseOut, error) {
		out, err := lua.Run(ctx, p.runner, lua.PoolRelease, p.releaseOf(r, l), lua.Latch{})
		return out.Value, err
	})
}

// PoolListRequest says what to list.
type PoolListRequest struct {
	Pool, Scope string // whose use and cooldowns are shown
	Cursor      string // of the page before; empty = from the start
	Count       int64  // 1 to 1,000
}

// PoolPage is some of a pool's members, in the order in which they came.
type PoolPage struct {
	Members []PoolEntry
	Cursor  string // empty = this was the last
}

// PoolEntry is one member and its state.
type PoolEntry struct {
	PoolMember
	State     string        // free, leased, cooling or banned
	For       time.Duration // that this lasts; 0 when free, Never without an end
	Holder    *Holder
	LastUsed  time.Time // in the scope; zero = never
	Failures  int64     // in a row
	Breaker   string    // its state, empty when it has none
	PausedFor time.Duration
}

// List reads a page of members. Pages are read one after the other: who comes or
// goes meanwhile may be missing or be there still.
func (p *Pools) List(ctx context.Context, r PoolListRequest) (PoolPage, error) {
	if err := checkScope(r.Pool, r.Scope); err != nil {
		return PoolPage{}, err
	}
	if r.Count < 1 || r.Count > maxMembers {
		return PoolPage{}, invalid("count: %d is out of range; use 1 to %d", r.Count, maxMembers)
	}
	var after int64
	if r.Cursor != "" {
		var err error
		if after, err = strconv.ParseInt(r.Cursor, 10, 64); err != nil || after < 1 || after > api.MaxInt {
			return PoolPage{}, invalid("cursor: this is none; give the cursor of the page before, or none to start")
		}
	}
	var page PoolPage
	bytes := 0
	for {
		out, err := lua.Run(ctx, p.runner, lua.PoolList, lua.PoolListIn{
			PoolKeys: p.keys.poolKeys(r.Pool), Used: p.keys.used(r.Pool, r.Scope),
			After: after, Count: min(listAtOnce, r.Count-int64(len(page.Members))),
		}, lua.Latch{})
		if err != nil {
			return PoolPage{}, failed("pool "+r.Pool+": list", err)
		}
		for _, v := range out.Value.Members {
			page.Members = append(page.Members, entryOf(v, out.Value.NowUS))
			bytes += len(v.ID) + len(v.Meta)
		}
		after = out.Value.Cursor
		switch {
		case after == 0:
			return page, nil
		case int64(len(page.Members)) >= r.Count, bytes >= maxPageBytes:
			page.Cursor = strconv.FormatInt(after, 10)
			return page, nil
		}
	}
}

func checkScope(pool, scope string) error {
	if err := checkText("pool", pool); err != nil || scope == "" {
		return err
	}
	return checkText("scope", scope)
}

// entryOf puts a member's view into words. Of several states the lease counts
// first, then the ban.
func entryOf(v lua.PoolMemberView, now int64) PoolEntry {
	e := PoolEntry{
		PoolMember: PoolMember{v.ID, v.Meta}, State: MemberFree, Failures: v.Failures, Breaker: v.Breaker,
		PausedFor: max(0, ceilMS(v.PauseUS-now)), LastUsed: instant(v.LastUS),
	}
	switch {
	case v.LeaseUS > now:
		e.State, e.For, e.Holder = MemberLeased, ceilMS(v.LeaseUS-now), holder(v.Client, v.Instance, "", v.SinceUS/1000)
	case v.BanUS < 0:
		e.State, e.For = MemberBanned, Never
	case v.BanUS > now:
		e.State, e.For = MemberBanned, ceilMS(v.BanUS-now)
	case v.CoolUS > now:
		e.State, e.For = MemberCooling, ceilMS(v.CoolUS-now)
	}
	return e
}

// PoolCounts are the members by state: live, cooling, banned and free ones are
// Total.
type PoolCounts struct {
	Total, Live, Cooling, Banned, Free int64
	// Waiting is how many stand in line in the scope for whichever member.
	Waiting int64
}

// Stats counts the members, some at a time: each counts once, as it is then.
func (p *Pools) Stats(ctx context.Context, pool, scope string) (PoolCounts, error) {
	if err := checkScope(pool, scope); err != nil {
		return PoolCounts{}, err
	}
	in := lua.PoolStatsIn{
		PoolKeys: p.keys.poolKeys(pool), Used: p.keys.used(pool, scope),
		Line: p.keys.view(pool, nounPool, [3]string{scope}, "").Line, Count: countAtOnce,
	}
	var c PoolCounts
	for {
		out, err := lua.Run(ctx, p.runner, lua.PoolStats, in, lua.Latch{})
		if err != nil {
			return PoolCounts{}, failed("pool "+pool+": stats", err)
		}
		v := out.Value
		c.Live, c.Cooling, c.Banned, c.Free, c.Waiting = c.Live+v.Live, c.Cooling+v.Cooling, c.Banned+v.Banned, c.Free+v.Free, v.Waiting
		if in.After = v.Cursor; in.After == 0 {
			c.Total = c.Live + c.Cooling + c.Banned + c.Free
			return c, nil
		}
	}
}
