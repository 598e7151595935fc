package pool

import (
	"embed"

	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

//go:embed *.lua
var files embed.FS

// Keys are the keys of a pool that all its scripts share; see part_pool.lua.
type Keys struct {
	Order    string `lua:"key"` // sorted set: member by when it was added
	Meta     string `lua:"key"` // hash: what was put with each member
	Changes  string `lua:"key"` // sorted set: member by its last change, which views follow
	Members  string `lua:"key"` // hash: the state of each member
	Tokens   string `lua:"key"` // hash: the member of each lease
	State    string `lua:"key"` // hash: the last fence and the last change
	Heads    string `lua:"key"` // sorted set: the first waiter of each line, by the time until which it must have asked again, us
	Breakers string `lua:"key"` // hash: the breakers of its members
}

// ViewKeys are the keys of one view of a pool. A view is what acquisitions share that have the same
// conditions for members. There is one Used for each scope, and one waiting line for each
// scope, rule and breaker policy. Idle, Away and Seen are separate also for each cost and
// revision of the rule, since the time at which a member is available depends on them. These three
// are rebuilt when they are lost.
type ViewKeys struct {
	Idle string `lua:"key"` // sorted set: members that may be available now, by their last use
	Away string `lua:"key"` // sorted set: the others, by when each is next available, us
	Seen string `lua:"key"` // string: the last change that the view has followed
	Used string `lua:"key"` // hash: the last use and the cooldown of each member in the scope
	lease.LineKeys
}

// AcquireScript leases the least recently used member that is available. Repeated with
// the same token it returns the same member, as long as the lease is held.
var AcquireScript = lua.Define[AcquireIn, AcquireOut](files, lua.Source{
	Name:        "pool_acquire",
	Idempotent:  true,
	StoresReply: true,
})

// AcquireIn is one attempt to lease a member.
type AcquireIn struct {
	Pool Keys     `lua:"table"`
	View ViewKeys `lua:"table"`
	// Sticky is the key of a sticky name, which gets the same member again if that is available. It
	// lasts StickyMS; empty = there is none.
	Sticky  string `lua:"key,optional"`
	Token   string
	LeaseMS int64
	// Session is the id of the session that the lease is bound to, empty when it is bound to its TTL.
	Session, Client, Instance string
	// Waiter is the caller's id in the waiting line, empty when it does not wait. If it is not served, Waiter gets or
	// keeps its ticket, which lapses after HeartbeatMS unless its sidecar sends a heartbeat; with HeartbeatMS 0 it is
	// removed from the line.
	Waiter      string
	HeartbeatMS int64
	Inboxes     string   // the prefix of the names of the sidecars' channels
	Exclude     []string // members, at most 100
	StickyMS    int64
}

// AcquireOut is a leased member, or the reason why none was leased.
type AcquireOut struct {
	Acquired bool
	ID       string
	// Fence rises with every lease of the pool.
	Fence   int64
	Meta    string
	LeaseMS int64 // left, rounded down
	// LastUsedMS is when the member was last acquired before in the scope; 0 = never.
	LastUsedMS int64
	// Reason is why no member is available, of the member that will be available first: busy, cooling,
	// banned, empty, and for permits open, limit or pause.
	Reason string
	// RetryUS is the time until the first member is available, -1 = none will be unless something changes;
	// NextMS is that instant, rounded up, 0 = none.
	RetryUS, NextMS int64
	// First: no waiter of a live sidecar is before the caller in the line.
	First bool
	// More: this run could not look at enough members to decide. The next run of the script continues
	// where this one stopped.
	More bool
}

// RenewScript extends a lease, and with it the probe of a permit. With Move it also binds the lease to
// Session, whichever session held it.
var RenewScript = lua.Define[RenewIn, RenewOut](files, lua.Source{
	Name:       "pool_renew",
	Idempotent: true,
})

// Lease identifies a lease. After a lost reply the member is not known. An empty Member then stands for
// the member that the token holds, if any.
type Lease struct{ Token, Member string }

// RenewIn makes one lease last LeaseMS from now on. If Session is not the stored one, the script returns
// lease.StateMoved and changes nothing; a renewal with a Session never shortens
// the lease. An empty Session matches any, and may shorten the lease unless Move is set.
type RenewIn struct {
	Pool Keys `lua:"table"`
	Lease
	Session string
	LeaseMS int64
	Move    bool
	// Client and Instance are those of the session to which the lease moves.
	Client, Instance string
}

// RenewOut is the state in which the script found the lease.
type RenewOut struct {
	State   lease.State
	ID      string
	Fence   int64
	LeaseMS int64 // left, rounded down
}

// ReleaseScript gives a member back if the token holds it, removes a waiter from the
// line, and wakes the heads of all lines of the pool. It therefore also cancels a waiting
// call, whether or not it was served meanwhile. A probe of a permit
// is given back too.
var ReleaseScript = lua.Define[ReleaseIn, ReleaseOut](files, lua.Source{
	Name:       "pool_release",
	Idempotent: true,
})

// ReleaseIn gives one member back. If Session is not the stored one, the script returns
// lease.StateMoved and changes nothing; an empty Session matches any.
type ReleaseIn struct {
	Pool Keys   `lua:"table"`
	Used string `lua:"key"` // of the scope in which the member was acquired
	lease.LineKeys
	Lease   // an empty Token releases nothing
	Session string
	Waiter  string // removed from the waiting line, empty = none
	Inboxes string
	// Outcome is the outcome of using the member, by its name on the wire; empty = not known,
	// so nothing is counted.
	Outcome string
	// CooldownMS is the minimum time for which the member cools down.
	CooldownMS int64
	// UnbanMS is how long a ban by Outcome lasts; 0 = without an end.
	UnbanMS int64
}

// ReleaseOut is the state in which the script found the lease, and the member's state after it.
type ReleaseOut struct {
	State lease.State
	ID    string
	// Became is free, cooling or banned; empty unless State is lease.StateOwned.
	Became string
	// NextMS is when the member is available again: 0 = now, -1 = not unless something changes.
	NextMS int64
}
