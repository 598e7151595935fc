package lua

// SemaphoreKeys are what a semaphore has; prelude_permits.lua says what they hold.
type SemaphoreKeys struct {
	Leases, Holders, Weights string `lua:"key"`
}

// SemaphoreAcquire grants permits of a semaphore, all or none. Repeated with the
// same token it answers the same grant and restarts its TTL.
var SemaphoreAcquire = Define[SemaphoreAcquireIn, SemaphoreAcquireOut](files, Source{
	Name:       "semaphore_acquire",
	Idempotent: true,
	Latched:    true,
})

// SemaphoreAcquireIn is one try to take permits.
type SemaphoreAcquireIn struct {
	Semaphore SemaphoreKeys `lua:"table"`
	LineKeys
	Gone           string `lua:"key"` // keeps the fence of what the token gave back
	Token          string // the owner's secret
	Limit, Permits int64  // Permits, asked for, is at most Limit
	TTLMS          int64
	// Session is the id of the session they are bound to, empty when they are bound to their TTL.
	Session string
	// Client, Instance and Meta are any bytes.
	Client, Instance, Meta string
	// MaxHoldMS is after how long no renewal extends them any more; 0 = any does.
	MaxHoldMS int64
	// Waiter and BeatMS are as for LockAcquireIn.
	Waiter string
	BeatMS int64
	// Inboxes is what the names of the sidecars' channels begin with.
	Inboxes string
}

// SemaphoreAcquireOut is a grant, or what is in the way.
type SemaphoreAcquireOut struct {
	Acquired bool
	Fence    int64 // 0 when it was not acquired
	TTLMS    int64 // left, rounded down; 0 when it was not acquired
	// Final: no renewal extends the grant any more.
	Final bool
	Free  int64 // permits, after this
	// WaitUS is until enough TTLs have ended; 0 = it is not known.
	WaitUS int64
	// First: nobody alive is before the caller in the line.
	First bool
	// More: leases that have ended are counted still, and the caller should ask again at once.
	More bool
}

// SemaphoreState is what renew and release found.
type SemaphoreState int64

// What renew and release find, as the scripts return it.
const (
	// SemaphoreExpired: the token holds nothing, and did not give it back lately.
	SemaphoreExpired SemaphoreState = 0
	// SemaphoreHeld: it held permits, and what was asked is done.
	SemaphoreHeld SemaphoreState = 1
	// SemaphoreMoved: it holds permits, bound to another session by a replay.
	SemaphoreMoved SemaphoreState = 2
	// SemaphoreReleased: it gave them back.
	SemaphoreReleased SemaphoreState = 3
)

// SemaphoreRenew extends the permits of a token. With Move they are then Session's,
// whoever held them.
var SemaphoreRenew = Define[SemaphoreRenewIn, SemaphoreRenewOut](files, Source{Name: "semaphore_renew", Idempotent: true})

// SemaphoreRenewIn extends what one token holds. A Session other than the stored
// one finds SemaphoreMoved; an empty Session matches any, and so does a Fence of 0.
// A TTLMS of 0 extends nothing. A Session never shortens what is left; the owner's
// own call, with an empty one and no Move, may.
type SemaphoreRenewIn struct {
	Semaphore SemaphoreKeys `lua:"table"`
	Gone      string        `lua:"key"` // see SemaphoreAcquireIn
	Token     string
	TTLMS     int64
	Session   string
	Fence     int64
	Move      bool
	// Client and Instance are those of who they move to.
	Client, Instance string
}

// SemaphoreRenewOut says what was found.
type SemaphoreRenewOut struct {
	State SemaphoreState
	Fence int64
	TTLMS int64 // left, rounded down
	// Final: no renewal extends it any more.
	Final bool
}

// SemaphoreRelease gives the permits of a token back, takes a waiter out of the
// line, and wakes the next one: so it is also how a waiting call is cancelled,
// whether or not it was granted anything meanwhile.
var SemaphoreRelease = Define[SemaphoreReleaseIn, SemaphoreState](files, Source{
	Name:       "semaphore_release",
	Returns:    []string{"state"},
	Idempotent: true,
})

// SemaphoreReleaseIn gives back what one token holds. A Session other than the
// stored one finds SemaphoreMoved and changes nothing; an empty one matches any.
type SemaphoreReleaseIn struct {
	Semaphore SemaphoreKeys `lua:"table"`
	LineKeys
	Gone    string `lua:"key"` // see SemaphoreAcquireIn
	Token   string // empty releases nothing
	Session string
	Waiter  string // that leaves the line, empty = none
	Inboxes string
}

// SemaphoreGet reads a semaphore.
var SemaphoreGet = Define[SemaphoreGetIn, SemaphoreGetOut](files, Source{Name: "semaphore_get", Idempotent: true})

// SemaphoreGetIn names one semaphore.
type SemaphoreGetIn struct {
	Semaphore SemaphoreKeys `lua:"table"`
	Line      string        `lua:"key"`
}

// SemaphoreGetOut is the semaphore's state.
type SemaphoreGetOut struct {
	Held    int64 // permits
	Waiting int64 // places in the line, those of dead sidecars too until they come first
	// More: leases that have ended are counted still, and the caller should ask again at once.
	More    bool
	Holders []SemaphoreHolder // at most 100, by when they end
}

// SemaphoreHolder is one grant.
type SemaphoreHolder struct {
	Permits, Fence   int64
	TTLMS            int64 // left, rounded down
	Client, Instance string
	SinceMS          int64
	Meta             string
}
