package lua

import (
	"strconv"
	"strings"
)

// PoolKeys are what a pool has, whatever is asked of it; see prelude_pool.lua.
type PoolKeys struct {
	Order    string // sorted set: member by when it came
	Meta     string // hash: what was put with each member
	Changes  string // sorted set: member by its last change, which views follow
	Members  string // hash: the state of each member
	Tokens   string // hash: the member of each lease
	State    string // hash: the last fence and the last change
	Heads    string // sorted set: the first waiter of each line, by when it has to have looked again, us
	Breakers string // hash: the breakers of its members
}

func (k PoolKeys) keys(to []string) []string {
	return append(to, k.Order, k.Meta, k.Changes, k.Members, k.Tokens, k.State, k.Heads, k.Breakers)
}

var poolKeys = []string{"order", "meta", "changes", "members", "tokens", "state", "heads", "breakers"}

// ViewKeys are what one view of a pool has: a view is what acquisitions have in
// common that ask the same of members. Used is one for each scope. The line is one
// for each scope, rule and breaker policy. Idle, Away and Seen are one for each of
// those with the cost and the rule's revision besides, since what they say of when
// a member is possible is true of that cost under that rule alone; the three make
// themselves anew, so that nothing is lost with them.
type ViewKeys struct {
	Idle string // sorted set: members that may be possible now, by their last use
	Away string // sorted set: the others, by when each is next possible, us
	Seen string // string: the last change that the view has followed
	Used string // hash: the last use and the cooldown of each member in the scope
	LineKeys
}

func (k ViewKeys) keys(to []string) []string {
	return append(to, k.Idle, k.Away, k.Seen, k.Used, k.Line, k.Beats)
}

var viewKeys = []string{"idle", "away", "seen", "used", "line", "beats"}

// PoolAcquire leases the least recently used member that may be had. Repeated with
// the same token it answers the same member, as long as the lease lives.
var PoolAcquire = define[PoolAcquireIn](Source{
	Name:       "pool_acquire",
	Keys:       names(poolKeys, viewKeys, []string{"sticky"}),
	Args:       poolAcquireArgs,
	Returns:    poolAcquireReturns,
	Idempotent: true,
	Latched:    true,
}, readPoolAcquire)

var (
	poolAcquireArgs = []string{
		"token", "lease_ms", "session", "client", "instance", "waiter", "beat_ms", "inboxes", "exclude", "sticky_ms",
	}
	poolAcquireReturns = []string{
		"acquired", "id", "fence", "meta", "lease_ms", "last_used_ms", "reason", "retry_us", "next_ms", "first", "more",
	}
)

func names(lists ...[]string) []string {
	var all []string
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

func readPoolAcquire(r *Reply) PoolAcquireOut {
	return PoolAcquireOut{
		Acquired: r.Bool(), ID: r.Str(), Fence: r.Int(), Meta: r.Str(), LeaseMS: r.Int(), LastUsedMS: r.Int(),
		Reason: r.Str(), RetryUS: r.Int(), NextMS: r.Int(), First: r.Bool(), More: r.Bool(),
	}
}

// PoolAcquireIn is one try to lease a member.
type PoolAcquireIn struct {
	PoolKeys
	ViewKeys
	// Sticky is the key of a name that gets the same member again while it can be
	// had, remembered for StickyMS; empty = there is none.
	Sticky  string
	Token   string
	LeaseMS int64
	// Session is the id of the session it is bound to, empty when it is bound to its TTL.
	Session, Client, Instance string
	// Waiter is the caller's in the line, empty when it does not wait. With BeatMS
	// it gets or keeps a place for so long unless its sidecar beats; with 0 it
	// leaves the line when it is not served.
	Waiter   string
	BeatMS   int64
	Inboxes  string   // what the names of the sidecars' channels begin with
	Exclude  []string // members, at most 100
	StickyMS int64
}

func (in PoolAcquireIn) keys(to []string) []string {
	// A cluster gives the empty key a slot of its own.
	sticky := in.Sticky
	if sticky == "" {
		sticky = in.State
	}
	return append(in.ViewKeys.keys(in.PoolKeys.keys(to)), sticky)
}

func (in PoolAcquireIn) args(to []any) []any {
	stickyMS := in.StickyMS
	if in.Sticky == "" {
		stickyMS = 0
	}
	return append(to, in.Token, in.LeaseMS, in.Session, in.Client, in.Instance, in.Waiter, in.BeatMS, in.Inboxes,
		texts(in.Exclude), stickyMS)
}

// texts are any bytes as one value: each after its length and a colon.
func texts(list []string) string {
	var b strings.Builder
	for _, s := range list {
		b.WriteString(strconv.Itoa(len(s)))
		b.WriteByte(':')
		b.WriteString(s)
	}
	return b.String()
}

// PoolAcquireOut is a member, or why there is none.
type PoolAcquireOut struct {
	Acquired bool
	ID       string
	// Fence rises with every lease of the pool.
	Fence   int64
	Meta    string
	LeaseMS int64 // left, rounded down
	// LastUsedMS is when it was acquired before in the scope; 0 = never.
	LastUsedMS int64
	// Reason is why there is none, by the member that is soonest: busy, cooling,
	// banned, empty, and for permits open, limit or pause.
	Reason string
	// RetryUS is until the soonest member may be had, -1 = none ever as things are;
	// NextMS is that instant, rounded up, 0 = none.
	RetryUS, NextMS int64
	// First: nobody alive is before the caller in the line.
	First bool
	// More: not enough could be looked at in one run to tell. The same call goes on
	// where this one stopped.
	More bool
}

// PoolRenew extends a lease, and the probe of a permit with it. With Move it is
// then Session's, whoever held it.
var PoolRenew = define[PoolRenewIn](Source{
	Name:       "pool_renew",
	Keys:       poolKeys,
	Args:       []string{"token", "member", "session", "lease_ms", "move", "client", "instance"},
	Returns:    []string{"state", "id", "fence", "lease_ms"},
	Idempotent: true,
}, func(r *Reply) PoolRenewOut {
	return PoolRenewOut{State: LockState(r.Int()), ID: r.Str(), Fence: r.Int(), LeaseMS: r.Int()}
})

// PoolLease names a lease. Who lost the reply of an acquisition does not know the
// member: an empty one is that which the token has, if it has one.
type PoolLease struct{ Token, Member string }

// PoolRenewIn extends one lease, never shortens it. A Session other than the
// stored one finds LockMoved and changes nothing; an empty Session matches any.
type PoolRenewIn struct {
	PoolKeys
	PoolLease
	Session string
	LeaseMS int64
	Move    bool
	// Client and Instance are of whom it moves to.
	Client, Instance string
}

func (in PoolRenewIn) args(to []any) []any {
	return append(to, in.Token, in.Member, in.Session, in.LeaseMS, flag(in.Move), in.Client, in.Instance)
}

// PoolRenewOut says what was found.
type PoolRenewOut struct {
	State   LockState
	ID      string
	Fence   int64
	LeaseMS int64 // left, rounded down
}

// PoolRelease gives a member back if the token has it, takes a waiter out of the
// line, and wakes the heads of all lines of the pool: so it is also how a waiting
// call is cancelled, whether or not it was served meanwhile. A probe of a permit
// is given back with it.
var PoolRelease = define[PoolReleaseIn](Source{
	Name:       "pool_release",
	Keys:       names(poolKeys, releaseKeys),
	Args:       poolReleaseArgs,
	Returns:    poolReleaseReturns,
	Idempotent: true,
}, readPoolRelease)

var (
	releaseKeys        = []string{"used", "line", "beats"}
	poolReleaseArgs    = []string{"token", "member", "session", "waiter", "inboxes", "outcome", "cooldown_ms", "unban_ms"}
	poolReleaseReturns = []string{"state", "id", "became", "next_ms"}
)

func readPoolRelease(r *Reply) PoolReleaseOut {
	return PoolReleaseOut{State: LockState(r.Int()), ID: r.Str(), Became: r.Str(), NextMS: r.Int()}
}

// PoolReleaseIn gives one member back. A Session other than the stored one finds
// LockMoved and changes nothing; an empty Session matches any.
type PoolReleaseIn struct {
	PoolKeys
	Used string // key, of the scope that it was acquired in
	LineKeys
	PoolLease // an empty Token releases nothing
	Session   string
	Waiter    string // that leaves the line, empty = none
	Inboxes   string
	// Outcome is how the member did, by its name on the wire; empty = nobody knows,
	// and nothing is counted.
	Outcome string
	// CooldownMS is how long it cools down at least.
	CooldownMS int64
	// UnbanMS is how long a ban by Outcome lasts; 0 = without an end.
	UnbanMS int64
}

func (in PoolReleaseIn) keys(to []string) []string {
	return append(in.PoolKeys.keys(to), in.Used, in.Line, in.Beats)
}

func (in PoolReleaseIn) args(to []any) []any {
	return append(to, in.Token, in.Member, in.Session, in.Waiter, in.Inboxes, in.Outcome, in.CooldownMS, in.UnbanMS)
}

// PoolReleaseOut says what was found, and what the member is since.
type PoolReleaseOut struct {
	State LockState
	ID    string
	// Became is free, cooling or banned; empty unless State is LockOwned.
	Became string
	// NextMS is when it may be had again: 0 = now, -1 = not as things are.
	NextMS int64
}
