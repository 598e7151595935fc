package semaphore

import (
	"embed"

	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

//go:embed *.lua
var files embed.FS

// Keys are the keys of a semaphore; part_permits.lua describes them.
type Keys struct {
	Leases, Holders, Weights string `lua:"key"`
}

// AcquireScript grants permits of a semaphore, all or none. Repeated with the same token, it returns the same grant
// and restarts its TTL.
var AcquireScript = lua.Define[AcquireIn, AcquireOut](files, lua.Source{
	Name:        "semaphore_acquire",
	Idempotent:  true,
	StoresReply: true,
})

// AcquireIn is one try to take permits.
type AcquireIn struct {
	Semaphore Keys `lua:"table"`
	lease.LineKeys
	Gone           string `lua:"key"` // holds the fence of the lease that the token gave back
	Token          string // the owner's secret
	Limit, Permits int64  // Permits are those asked for, at most Limit
	TTLMS          int64
	// Session is the id of the session that the permits are bound to, empty when they are bound to their TTL.
	Session string
	// Client, Instance and Meta are any bytes.
	Client, Instance, Meta string
	// MaxHoldMS is the time after which no renewal extends the permits any more; 0 = no bound.
	MaxHoldMS int64
	// Waiter and HeartbeatMS are as in lock.AcquireIn.
	Waiter      string
	HeartbeatMS int64
	// Inboxes is what the names of the sidecars' channels begin with.
	Inboxes string
}

// AcquireOut is a grant, or the reason for a refusal.
type AcquireOut struct {
	Acquired bool
	Fence    int64 // 0 when it was not acquired
	TTLMS    int64 // left, rounded down; 0 when it was not acquired
	// Final: no renewal extends the grant any more.
	Final bool
	Free  int64 // permits, after this
	// WaitUS is the time until enough leases have ended by their TTL; 0 = it is not known.
	WaitUS int64
	// First: no waiter of a live sidecar is ahead of the caller in the waiting line.
	First bool
	// More: leases that have ended are still counted; the caller should ask again at once.
	More bool
}

// State is the state in which renew and release found a lease.
type State int64

// The states that the scripts return.
const (
	// Expired: the token holds nothing, and there is no mark that it gave permits back, which is kept for 150 s.
	Expired State = 0
	// Held: it held permits, and what was asked is done.
	Held State = 1
	// Moved: it holds permits, bound to another session by a replay.
	Moved State = 2
	// Released: it gave them back.
	Released State = 3
)

// RenewScript extends the permits of a token. With Move, it binds them to Session, whichever session they were bound
// to.
var RenewScript = lua.Define[RenewIn, RenewOut](files, lua.Source{Name: "semaphore_renew", Idempotent: true})

// RenewIn extends what one token holds. A Session other than the stored
// one finds Moved; an empty Session matches any, and so does a Fence of 0.
// A TTLMS of 0 extends nothing. A Session never shortens what is left; the owner's
// own call, with an empty one and no Move, may.
type RenewIn struct {
	Semaphore Keys   `lua:"table"`
	Gone      string `lua:"key"` // see AcquireIn
	Token     string
	TTLMS     int64
	Session   string
	Fence     int64
	Move      bool
	// Client and Instance are those of the caller that the permits move to.
	Client, Instance string
}

// RenewOut is the state in which the script found the lease.
type RenewOut struct {
	State State
	Fence int64
	TTLMS int64 // left, rounded down
	// Final: no renewal extends it any more.
	Final bool
}

// ReleaseScript gives back the permits of a token, removes a waiter from the waiting line, and wakes the next one. So
// it also cancels a waiting call, whether or not the call was granted permits meanwhile.
var ReleaseScript = lua.Define[ReleaseIn, State](files, lua.Source{
	Name:       "semaphore_release",
	Returns:    []string{"state"},
	Idempotent: true,
})

// ReleaseIn gives back what one token holds. A Session other than the
// stored one finds Moved and changes nothing; an empty one matches any.
type ReleaseIn struct {
	Semaphore Keys `lua:"table"`
	lease.LineKeys
	Gone    string `lua:"key"` // see AcquireIn
	Token   string // empty releases nothing
	Session string
	Waiter  string // removed from the waiting line, empty = none
	Inboxes string
}

// GetScript reads a semaphore.
var GetScript = lua.Define[GetIn, GetOut](files, lua.Source{Name: "semaphore_get", Idempotent: true})

// GetIn names one semaphore.
type GetIn struct {
	Semaphore Keys   `lua:"table"`
	Line      string `lua:"key"`
	Most      int64  // the most holders that are returned
}

// GetOut is the semaphore's state.
type GetOut struct {
	Held    int64 // permits
	Waiting int64 // waiters in the line; those of dead sidecars count until they come first
	// More: leases that have ended are still counted; the caller should ask again at once.
	More    bool
	Holders []Holder // by when they end
}

// Holder is one grant.
type Holder struct {
	Permits, Fence   int64
	TTLMS            int64 // left, rounded down
	Client, Instance string
	SinceMS          int64
	Meta             string
}
