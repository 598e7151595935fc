package lua

// SemaphoreKeys are what a semaphore has; prelude_permits.lua says what they hold.
type SemaphoreKeys struct{ Leases, Holders, Weights string }

func (k SemaphoreKeys) keys(to []string) []string { return append(to, k.Leases, k.Holders, k.Weights) }

// SemaphoreAcquire grants permits of a semaphore, all or none. Repeated with the
// same token it answers the same grant and restarts its TTL.
var SemaphoreAcquire = define[SemaphoreAcquireIn](Source{
	Name: "semaphore_acquire",
	Keys: []string{"leases", "holders", "weights", "line", "beats", "gone"},
	Args: []string{
		"token", "limit", "permits", "ttl_ms", "session", "client", "instance", "meta", "max_hold_ms", "waiter", "beat_ms", "inboxes",
	},
	Returns:    []string{"acquired", "fence", "ttl_ms", "final", "free", "wait_us", "first", "more"},
	Idempotent: true,
	Latched:    true,
}, func(r *Reply) SemaphoreAcquireOut {
	return SemaphoreAcquireOut{
		Acquired: r.Bool(), Fence: r.Int(), TTLMS: r.Int(), Final: r.Bool(),
		Free: r.Int(), WaitUS: r.Int(), First: r.Bool(), More: r.Bool(),
	}
})

// SemaphoreAcquireIn is one try to take permits.
type SemaphoreAcquireIn struct {
	SemaphoreKeys
	LineKeys
	Gone           string // key: that the token gave back
	Token          string
	Limit, Permits int64 // Permits is at most Limit
	TTLMS          int64
	// Session is the id of the session they are bound to, empty when they are bound to their TTL.
	Session                string
	Client, Instance, Meta string
	// MaxHoldMS is after how long no renewal extends them any more; 0 = any does.
	MaxHoldMS int64
	// Waiter and BeatMS are as for LockAcquireIn.
	Waiter string
	BeatMS int64
	// Inboxes is what the names of the sidecars' channels begin with.
	Inboxes string
}

func (in SemaphoreAcquireIn) keys(to []string) []string {
	return append(in.SemaphoreKeys.keys(to), in.Line, in.Beats, in.Gone)
}

func (in SemaphoreAcquireIn) args(to []any) []any {
	return append(to, in.Token, in.Limit, in.Permits, in.TTLMS, in.Session, in.Client, in.Instance, in.Meta,
		in.MaxHoldMS, in.Waiter, in.BeatMS, in.Inboxes)
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
var SemaphoreRenew = define[SemaphoreRenewIn](Source{
	Name:       "semaphore_renew",
	Keys:       []string{"leases", "holders", "weights", "gone"},
	Args:       []string{"token", "ttl_ms", "session", "fence", "move", "client", "instance"},
	Returns:    []string{"state", "fence", "ttl_ms", "final"},
	Idempotent: true,
}, func(r *Reply) SemaphoreRenewOut {
	return SemaphoreRenewOut{State: SemaphoreState(r.Int()), Fence: r.Int(), TTLMS: r.Int(), Final: r.Bool()}
})

// SemaphoreRenewIn extends what one token holds. A Session other than the stored
// one finds SemaphoreMoved; an empty Session matches any, and so does a Fence of 0.
// A TTLMS of 0 extends nothing.
type SemaphoreRenewIn struct {
	SemaphoreKeys
	Gone             string // key
	Token            string
	TTLMS            int64
	Session          string
	Fence            int64
	Move             bool
	Client, Instance string
}

func (in SemaphoreRenewIn) keys(to []string) []string {
	return append(in.SemaphoreKeys.keys(to), in.Gone)
}

func (in SemaphoreRenewIn) args(to []any) []any {
	return append(to, in.Token, in.TTLMS, in.Session, in.Fence, flag(in.Move), in.Client, in.Instance)
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
var SemaphoreRelease = define[SemaphoreReleaseIn](Source{
	Name:       "semaphore_release",
	Keys:       []string{"leases", "holders", "weights", "line", "beats", "gone"},
	Args:       []string{"token", "session", "waiter", "inboxes"},
	Returns:    []string{"state"},
	Idempotent: true,
}, func(r *Reply) SemaphoreState { return SemaphoreState(r.Int()) })

// SemaphoreReleaseIn gives back what one token holds. A Session other than the
// stored one finds SemaphoreMoved and changes nothing; an empty one matches any.
type SemaphoreReleaseIn struct {
	SemaphoreKeys
	LineKeys
	Gone    string // key
	Token   string // empty releases nothing
	Session string
	Waiter  string // that leaves the line, empty = none
	Inboxes string
}

func (in SemaphoreReleaseIn) keys(to []string) []string {
	return append(in.SemaphoreKeys.keys(to), in.Line, in.Beats, in.Gone)
}

func (in SemaphoreReleaseIn) args(to []any) []any {
	return append(to, in.Token, in.Session, in.Waiter, in.Inboxes)
}

// SemaphoreGet reads a semaphore.
var SemaphoreGet = define[SemaphoreGetIn](Source{
	Name: "semaphore_get",
	Keys: []string{"leases", "holders", "weights", "line"},
	Returns: []string{
		"held", "waiting", "more", "holders", "then", "permits", "fence", "ttl_ms", "client", "instance", "since_ms", "meta",
	},
	Idempotent: true,
}, func(r *Reply) SemaphoreGetOut {
	out := SemaphoreGetOut{Held: r.Int(), Waiting: r.Int(), More: r.Bool()}
	for range r.Int() {
		out.Holders = append(out.Holders, SemaphoreHolder{
			Permits: r.Int(), Fence: r.Int(), TTLMS: r.Int(), Client: r.Str(), Instance: r.Str(), SinceMS: r.Int(), Meta: r.Str(),
		})
	}
	return out
})

// SemaphoreGetIn names one semaphore.
type SemaphoreGetIn struct {
	SemaphoreKeys
	Line string // key
}

func (in SemaphoreGetIn) keys(to []string) []string {
	return append(in.SemaphoreKeys.keys(to), in.Line)
}
func (in SemaphoreGetIn) args(to []any) []any { return to }

// SemaphoreGetOut is the semaphore's state.
type SemaphoreGetOut struct {
	Held, Waiting int64
	// More: leases that have ended are counted still.
	More    bool
	Holders []SemaphoreHolder // at most 100, by when they end
}

// SemaphoreHolder is one grant.
type SemaphoreHolder struct {
	Permits, Fence, TTLMS  int64
	Client, Instance, Meta string
	SinceMS                int64
}
