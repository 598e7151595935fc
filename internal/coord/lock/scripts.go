package lock

import (
	"embed"

	"go.opentelemetry.io/otel/attribute"

	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

//go:embed *.lua
var files embed.FS

// AcquireScript grants a lock, or returns its holder. Repeated with the same token
// it returns the same fence and restarts the TTL.
var AcquireScript = lua.Define[AcquireIn, AcquireOut](files, lua.Source{
	Name:        "lock_acquire",
	Idempotent:  true,
	StoresReply: true,
})

// AcquireIn is one attempt to acquire a lock.
type AcquireIn struct {
	Lock string `lua:"key"`
	lease.LineKeys
	Token string
	TTLMS int64
	// Session is the id of the session that the lock is bound to, empty when it is bound to its TTL.
	Session          string
	Client, Instance string
	// Waiter is the caller's id in the waiting line, empty when it does not wait. If the lock is not granted, Waiter
	// gets or keeps its ticket, which lapses after HeartbeatMS unless its sidecar sends a heartbeat; with HeartbeatMS
	// 0 it is removed from the line.
	Waiter      string
	HeartbeatMS int64
	// MaxHoldMS is the longest time that the token can hold the lock, counted from when it became the owner; renewals
	// do not go beyond it. 0 = no maximum.
	MaxHoldMS int64
	Meta      string // the caller's description of the hold, shown with the owner
}

// AcquireOut is a grant, or the current holder.
type AcquireOut struct {
	Acquired bool
	// Fence is the grant's fence; 0 when it was not acquired.
	Fence int64
	// TTLMS is what the new owner, or the current holder, has left, rounded down.
	TTLMS            int64
	Client, Instance string
	SinceMS          int64
	// First: no waiter of a live sidecar is before the caller in the line.
	First bool
	Meta  string // the owner's
	// Final: the maximal hold ends the grant, so no renewal extends it any more.
	Final bool
}

// RenewScript extends a lock that the token holds.
var RenewScript = lua.Define[RenewIn, RenewOut](files, lua.Source{
	Name:       "lock_renew",
	Idempotent: true,
})

// RenewIn extends one lock. If Session is not the stored one, the script returns lease.StateMoved and
// changes nothing; an empty Session matches any.
type RenewIn struct {
	Lock    string `lua:"key"`
	Token   string
	TTLMS   int64
	Session string
}

// RenewOut is the state in which the script found the lease.
type RenewOut struct {
	State lease.State
	Fence int64
	TTLMS int64 // left, rounded down
	// Final: the maximal hold ends the lease, so no renewal extends it any more.
	Final bool
}

// ReleaseScript releases a lock if the token holds it, removes a waiter from the waiting
// line, and wakes the next waiter if the lock is free. It therefore also cancels a waiting
// call, whether or not the lock was granted to that call meanwhile. The key is kept for a while
// with its fence and the released token, so that fences never go back and a repeated request
// finds what became of its grant.
var ReleaseScript = lua.Define[ReleaseIn, lease.State](files, lua.Source{
	Name:       "lock_release",
	Returns:    []string{"state"},
	Idempotent: true,
})

// ReleaseIn gives one lock back. If Session is not the stored one, the script returns lease.StateMoved and
// changes nothing; an empty Session matches any.
type ReleaseIn struct {
	Lock string `lua:"key"`
	lease.LineKeys
	Token   string // empty releases nothing
	Session string
	Waiter  string // removed from the waiting line, empty = none
	// Inboxes is the prefix of the names of the sidecars' channels.
	Inboxes string
}

// GetScript reads a lock.
var GetScript = lua.Define[GetIn, GetOut](files, lua.Source{
	Name:       "lock_get",
	Idempotent: true,
})

// GetIn names one lock.
type GetIn struct {
	Lock, Line string `lua:"key"`
}

// GetOut is the lock's state. Token never leaves coord.
type GetOut struct {
	Held             bool
	Fence            int64
	TTLMS            int64
	Client, Instance string
	SinceMS          int64
	Token            string
	// LastToken is the last token that was released: a grant that has ended was released
	// if this is its token, and expired if not. It never leaves coord.
	LastToken string
	// Waiting counts the tickets in the waiting line, those of dead sidecars too until
	// they come first.
	Waiting int64
	Meta    string // the owner's
	// Final: the maximal hold ends the lease, so no renewal extends it any more.
	Final bool
}

// ForceReleaseScript frees a lock, whichever token holds it, sends the broadcast "forced <key>"
// to all sidecars, and wakes the next waiter. The fence is kept, so that the next owner's
// is higher.
var ForceReleaseScript = lua.Define[ForceReleaseIn, ForceReleaseOut](files, lua.Source{
	Name:        "lock_force_release",
	StoresReply: true,
})

// ForceReleaseIn names one lock.
type ForceReleaseIn struct {
	Lock string `lua:"key"`
	lease.LineKeys
	// Inboxes is the prefix of the names of the sidecars' channels, Channel the channel of
	// the broadcast.
	Inboxes, Channel string
}

// ForceReleaseOut is the holder whose lock was freed.
type ForceReleaseOut struct {
	Released         bool
	Fence            int64
	Client, Instance string
	SinceMS          int64
	Meta             string
}

// SpanAttrs returns the decision.
func (o AcquireOut) SpanAttrs() []attribute.KeyValue {
	decision := "busy"
	if o.Acquired {
		decision = "acquired"
	}
	return []attribute.KeyValue{attribute.String("coxswain.decision", decision)}
}
