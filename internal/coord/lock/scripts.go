package lock

import (
	"embed"

	"go.opentelemetry.io/otel/attribute"

	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

//go:embed *.lua
var files embed.FS

// AcquireScript grants a lock, or says who holds it. Repeated with the same token
// it answers the same fence and restarts the TTL.
var AcquireScript = lua.Define[AcquireIn, AcquireOut](files, lua.Source{
	Name:        "lock_acquire",
	Idempotent:  true,
	StoresReply: true,
})

// AcquireIn is one try to take a lock.
type AcquireIn struct {
	Lock string `lua:"key"`
	lease.LineKeys
	Token string
	TTLMS int64
	// Session is the id of the session it is bound to, empty when it is bound to its TTL.
	Session          string
	Client, Instance string
	// Waiter is the caller's in the line, empty when it does not wait. With HeartbeatMS
	// it gets or keeps a place for so long unless its sidecar sends a heartbeat; with 0 it
	// leaves the line when it is not granted the lock.
	Waiter      string
	HeartbeatMS int64
	// MaxHoldMS is after how long no renewal extends it any more, counted from when
	// the token became its owner; 0 = any renewal does.
	MaxHoldMS int64
	Meta      string // shown with the owner
}

// AcquireOut is a grant, or the present holder.
type AcquireOut struct {
	Acquired bool
	// Fence is the grant's fence; 0 when it was not acquired.
	Fence int64
	// TTLMS is what the owner, or the present holder, has left, rounded down.
	TTLMS            int64
	Client, Instance string
	SinceMS          int64
	// First: nobody alive is before the caller in the line.
	First bool
	Meta  string // the owner's
	// Final: no renewal extends the grant any more.
	Final bool
}

// RenewScript extends a lock that the token holds.
var RenewScript = lua.Define[RenewIn, RenewOut](files, lua.Source{
	Name:       "lock_renew",
	Idempotent: true,
})

// RenewIn extends one lock. A Session other than the stored one finds
// lease.StateMoved; an empty Session matches any.
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
	// Final: no renewal extends it any more.
	Final bool
}

// ReleaseScript gives a lock back if the token holds it, takes a waiter out of the
// line, and wakes the next one if the lock is free: so it is also how a waiting
// call is cancelled, whether or not the lock was granted to it meanwhile. The
// key stays for a while with its fence and last token, so that fences never go
// back and a replayed grant learns what became of it.
var ReleaseScript = lua.Define[ReleaseIn, lease.State](files, lua.Source{
	Name:       "lock_release",
	Returns:    []string{"state"},
	Idempotent: true,
})

// ReleaseIn gives one lock back. A Session other than the stored one finds
// lease.StateMoved and changes nothing; an empty Session matches any.
type ReleaseIn struct {
	Lock string `lua:"key"`
	lease.LineKeys
	Token   string // empty releases nothing
	Session string
	Waiter  string // that leaves the line, empty = none
	// Inboxes is what the names of the sidecars' channels begin with.
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
	// LastToken is the last token that was released: a grant that is not held
	// any more was released if this is its token, and expired if not. It never
	// leaves coord.
	LastToken string
	// Waiting counts the places in the line, those of dead sidecars too until
	// they come first.
	Waiting int64
	Meta    string // the owner's
	// Final: no renewal extends it any more.
	Final bool
}

// ForceReleaseScript frees a lock whoever holds it, tells every sidecar by the
// broadcast "forced <key>", and wakes the next waiter. The fence stays, so that the
// next owner's is higher.
var ForceReleaseScript = lua.Define[ForceReleaseIn, ForceReleaseOut](files, lua.Source{
	Name:        "lock_force_release",
	StoresReply: true,
})

// ForceReleaseIn names one lock.
type ForceReleaseIn struct {
	Lock string `lua:"key"`
	lease.LineKeys
	// Inboxes is what the names of the sidecars' channels begin with, Channel that of
	// the broadcast.
	Inboxes, Channel string
}

// ForceReleaseOut says whose it was.
type ForceReleaseOut struct {
	Released         bool
	Fence            int64
	Client, Instance string
	SinceMS          int64
	Meta             string
}

// SpanAttrs are the decision.
func (o AcquireOut) SpanAttrs() []attribute.KeyValue {
	decision := "busy"
	if o.Acquired {
		decision = "acquired"
	}
	return []attribute.KeyValue{attribute.String("coxswain.decision", decision)}
}
