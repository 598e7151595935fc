package pool

import (
	"embed"

	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

//go:embed *.lua
var files embed.FS

// Keys are what a pool has, whatever is asked of it; see part_pool.lua.
type Keys struct {
	Order    string `lua:"key"` // sorted set: member by when it came
	Meta     string `lua:"key"` // hash: what was put with each member
	Changes  string `lua:"key"` // sorted set: member by its last change, which views follow
	Members  string `lua:"key"` // hash: the state of each member
	Tokens   string `lua:"key"` // hash: the member of each lease
	State    string `lua:"key"` // hash: the last fence and the last change
	Heads    string `lua:"key"` // sorted set: the first waiter of each line, by when it has to have looked again, us
	Breakers string `lua:"key"` // hash: the breakers of its members
}

// ViewKeys are what one view of a pool has: a view is what acquisitions have in
// common that ask the same of members. Used is one for each scope. The line is one
// for each scope, rule and breaker policy. Idle, Away and Seen are one for each of
// those with the cost and the rule's revision besides, since what they say of when
// a member is possible is true of that cost under that rule alone; the three make
// themselves anew, so that nothing is lost with them.
type ViewKeys struct {
	Idle string `lua:"key"` // sorted set: members that may be possible now, by their last use
	Away string `lua:"key"` // sorted set: the others, by when each is next possible, us
	Seen string `lua:"key"` // string: the last change that the view has followed
	Used string `lua:"key"` // hash: the last use and the cooldown of each member in the scope
	lease.LineKeys
}

// AcquireScript leases the least recently used member that may be had. Repeated with
// the same token it answers the same member, as long as the lease lives.
var AcquireScript = lua.Define[AcquireIn, AcquireOut](files, lua.Source{
	Name:        "pool_acquire",
	Idempotent:  true,
	StoresReply: true,
})

// AcquireIn is one try to lease a member.
type AcquireIn struct {
	Pool Keys     `lua:"table"`
	View ViewKeys `lua:"table"`
	// Sticky is the key of a name that gets the same member again while it can be
	// had, remembered for StickyMS; empty = there is none.
	Sticky  string `lua:"key,optional"`
	Token   string
	LeaseMS int64
	// Session is the id of the session it is bound to, empty when it is bound to its TTL.
	Session, Client, Instance string
	// Waiter is the caller's in the line, empty when it does not wait. With HeartbeatMS
	// it gets or keeps a place for so long unless its sidecar sends a heartbeat; with 0 it
	// leaves the line when it is not served.
	Waiter      string
	HeartbeatMS int64
	Inboxes     string   // what the names of the sidecars' channels begin with
	Exclude     []string // members, at most 100
	StickyMS    int64
}

// AcquireOut is a member, or why there is none.
type AcquireOut struct {
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

// RenewScript extends a lease, and the probe of a permit with it. With Move it is
// then Session's, whoever held it.
var RenewScript = lua.Define[RenewIn, RenewOut](files, lua.Source{
	Name:       "pool_renew",
	Idempotent: true,
})

// Lease names a lease. Who lost the reply of an acquisition does not know the
// member: an empty one is that which the token has, if it has one.
type Lease struct{ Token, Member string }

// RenewIn has one lease live for LeaseMS from now on. A Session other than the
// stored one finds lease.StateMoved and changes nothing; a Session's renewal never shortens
// the lease. An empty Session matches any, and may shorten it unless it moves.
type RenewIn struct {
	Pool Keys `lua:"table"`
	Lease
	Session string
	LeaseMS int64
	Move    bool
	// Client and Instance are of whom it moves to.
	Client, Instance string
}

// RenewOut is the state in which the script found the lease.
type RenewOut struct {
	State   lease.State
	ID      string
	Fence   int64
	LeaseMS int64 // left, rounded down
}

// ReleaseScript gives a member back if the token has it, takes a waiter out of the
// line, and wakes the heads of all lines of the pool: so it is also how a waiting
// call is cancelled, whether or not it was served meanwhile. A probe of a permit
// is given back with it.
var ReleaseScript = lua.Define[ReleaseIn, ReleaseOut](files, lua.Source{
	Name:       "pool_release",
	Idempotent: true,
})

// ReleaseIn gives one member back. A Session other than the stored one finds
// lease.StateMoved and changes nothing; an empty Session matches any.
type ReleaseIn struct {
	Pool Keys   `lua:"table"`
	Used string `lua:"key"` // of the scope that it was acquired in
	lease.LineKeys
	Lease   // an empty Token releases nothing
	Session string
	Waiter  string // that leaves the line, empty = none
	Inboxes string
	// Outcome is how the member did, by its name on the wire; empty = nobody knows,
	// and nothing is counted.
	Outcome string
	// CooldownMS is how long it cools down at least.
	CooldownMS int64
	// UnbanMS is how long a ban by Outcome lasts; 0 = without an end.
	UnbanMS int64
}

// ReleaseOut says what was found, and what the member is since.
type ReleaseOut struct {
	State lease.State
	ID    string
	// Became is free, cooling or banned; empty unless State is lease.StateOwned.
	Became string
	// NextMS is when it may be had again: 0 = now, -1 = not as things are.
	NextMS int64
}
