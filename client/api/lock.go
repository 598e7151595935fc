package api

// The methods and the event of locks.
var (
	LockAcquire = define[LockAcquireParams, LockAcquireResult](Spec{
		Name: "lock.acquire", Since: "0.1.0",
		Summary: "Acquires a lock, at once or in turn within wait_ms, or returns who holds it. A repeated call with the same token returns the same grant.",
	})
	LockRenew = define[LockRenewParams, LockRenewResult](Spec{
		Name: "lock.renew", Idempotent: true, Since: "0.1.0",
		Summary: "Renews a lock that this token holds: from now on it lasts the given time, which may be shorter or longer than what was left. " +
			"The sidecar renews locks that are bound to the session itself, with the new TTL from then on.",
	})
	LockRelease = define[LockReleaseParams, LockReleaseResult](Spec{
		Name: "lock.release", Idempotent: true, Notify: true, Since: "0.1.0",
		Summary: "Releases a lock, if this token holds it.",
	})
	LockGet = define[LockGetParams, LockGetResult](Spec{
		Name: "lock.get", Idempotent: true, Since: "0.1.0",
		Summary: "Returns whether a lock is held, by whom and for how long.",
	})
	LockList = define[LockListParams, LockListResult](Spec{
		Name: "lock.list", Idempotent: true, Since: "0.1.0",
		Summary: "Lists the locks that are held, one page at a time, in no particular order. A lock that is taken or freed during the " +
			"listing may be missing or still listed.",
	})
	LockExplain = define[LockGetParams, LockExplainResult](Spec{
		Name: "lock.explain", Idempotent: true, Since: "0.1.0",
		Summary: "Explains why a lock would be refused now and until when: who holds it, what keeps it held, and whose calls are in its " +
			"waiting line. It takes nothing.",
	})
	LockForceRelease = define[LockForceReleaseParams, LockForceReleaseResult](Spec{
		Name: "lock.force_release", Admin: true, Since: "0.1.0",
		Summary: "Takes a lock from whoever holds it, and returns who that was. The owner is notified that it has lost the lock; the next owner's fence is higher.",
	})
	LockLost = defineEvent[LostParams](Spec{
		Name: "lock.lost", Since: "0.1.0",
		Summary: "This connection has lost a lock. Sent before the lease ends.",
	})
)

// What a lease can be bound to.
const (
	// BindSession: the sidecar renews the lease while the connection is open, and releases it when the connection closes.
	BindSession = "session"
	// BindTTL: the lease lasts for its TTL unless the client renews it, also when the connection closes.
	BindTTL = "ttl"
)

// LockAcquireParams select a lock and set how to hold it.
type LockAcquireParams struct {
	Name         string `codec:"name" required:"true" doc:"the lock"`
	TTLMS        int64  `codec:"ttl_ms,omitempty" default:"30000" min:"100" max:"86400000" doc:"milliseconds that the lease lasts unless it is renewed"`
	WaitMS       int64  `codec:"wait_ms,omitempty" default:"0" min:"0" max:"60000" doc:"how many milliseconds the call may be in the waiting line, within its deadline; first come, first served across all pods"`
	Token        string `codec:"token,omitempty" doc:"the owner's secret; the sidecar makes one when it is absent"`
	WaitReplicas int64  `codec:"wait_replicas,omitempty" default:"0" min:"0" max:"16" doc:"how many replicas of Redis must have the grant; if fewer do in time, it is given back. A second holder after a failover becomes less likely"`
	MaxHoldMS    int64  `codec:"max_hold_ms,omitempty" default:"0" min:"0" max:"604800000" doc:"milliseconds after which it is lost even if it is renewed; 0 = never"`
	Meta         string `codec:"meta,omitempty" doc:"a text that is shown with the holder, such as a job's id; at most 512 bytes"`
	Bind         string `codec:"bind,omitempty" default:"session" enum:"session,ttl" doc:"session = the sidecar renews it while this connection is open and releases it when the connection closes; ttl = it does neither"`
}

// LockAcquireResult is a grant, or who holds the lock.
type LockAcquireResult struct {
	Acquired     bool    `codec:"acquired" doc:"the lock is held by this token"`
	Token        string  `codec:"token,omitempty" doc:"the owner's secret, for renew and release"`
	Fence        string  `codec:"fence,omitempty" doc:"a decimal number that rises with every new owner; pass it to what the lock protects"`
	TTLMS        int64   `codec:"ttl_ms" doc:"the least milliseconds that the present owner's lease has left"`
	HeldBy       *Holder `codec:"held_by,omitempty" doc:"the holder, if the lock is not acquired"`
	RetryAfterMS int64   `codec:"retry_after_ms" doc:"0 when acquired; else milliseconds until the holder's lease ends, or until it is worth asking again while other calls are in the waiting line"`
	WaitedMS     int64   `codec:"waited_ms,omitempty" doc:"milliseconds that the call was in the waiting line before Redis was asked for the result, rounded down"`
	Replayed     bool    `codec:"replayed,omitempty" doc:"the call repeats an earlier one with the same request id, and this is about the grant of that one"`
	Reason       string  `codec:"reason,omitempty" enum:"busy,replicas,released,expired" doc:"why it is not acquired: busy = others hold it or are before this call in the waiting line; replicas = too few replicas had the grant in time, so it was given back; released or expired = how the grant of a repeated call ended"`
}

// Holder is the client that holds something, by the names that it gave to session.hello.
type Holder struct {
	Client    string `codec:"client" doc:"the client program"`
	Instance  string `codec:"instance" doc:"the instance of the program, as it introduced itself"`
	SinceAtMS int64  `codec:"since_at_ms" doc:"when it acquired the lease, by the Redis server's clock, Unix milliseconds"`
	Meta      string `codec:"meta,omitempty" doc:"the meta that it gave when it acquired the lease"`
}

// LockRenewParams are the lock, its owner's token and the new TTL.
type LockRenewParams struct {
	Name  string `codec:"name" required:"true" doc:"the lock"`
	Token string `codec:"token" required:"true" doc:"the owner's secret"`
	TTLMS int64  `codec:"ttl_ms,omitempty" default:"30000" min:"100" max:"86400000" doc:"milliseconds that the lease lasts from now on"`
}

// LockRenewResult reports whether this token still holds the lock.
type LockRenewResult struct {
	Renewed bool   `codec:"renewed" doc:"the lock is held for another ttl_ms"`
	Fence   string `codec:"fence,omitempty" doc:"the grant's fence, unchanged"`
	TTLMS   int64  `codec:"ttl_ms" doc:"the least milliseconds that the lease has left; 0 when this token does not hold the lock"`
	Reason  string `codec:"reason" enum:"renewed,not_owner,expired" doc:"the outcome; not_owner = another owner holds it now; expired = this lease had ended"`
}

// LockReleaseParams are the lock and its owner's token.
type LockReleaseParams struct {
	Name  string `codec:"name" required:"true" doc:"the lock"`
	Token string `codec:"token" required:"true" doc:"the owner's secret"`
}

// LockReleaseResult reports the outcome. A lease that has ended is a reason here, not an error.
type LockReleaseResult struct {
	Released bool   `codec:"released" doc:"this token held the lock, which is free now"`
	Reason   string `codec:"reason" enum:"released,not_owner,expired" doc:"the outcome; not_owner = another owner holds it now; expired = this lease had ended"`
}

// LockGetParams select a lock.
type LockGetParams struct {
	Name string `codec:"name" required:"true" doc:"the lock"`
}

// LockGetResult is the state of a lock. It never contains the token.
type LockGetResult struct {
	Held   bool    `codec:"held" doc:"it is held"`
	Fence  string  `codec:"fence,omitempty" doc:"the present owner's fence"`
	TTLMS  int64   `codec:"ttl_ms,omitempty" doc:"milliseconds until the lease ends"`
	HeldBy *Holder `codec:"held_by,omitempty" doc:"the holder"`
	// Waiting is 0 if the waiting line is empty.
	Waiting int64 `codec:"waiting,omitempty" doc:"how many calls are in its waiting line"`
}

// LockListParams select one page of the list.
type LockListParams struct {
	Cursor string `codec:"cursor,omitempty" doc:"the cursor that the previous page returned; absent = the first page"`
	Count  int64  `codec:"count,omitempty" default:"100" min:"1" max:"1000" doc:"about how many entries to list"`
	State  string `codec:"state,omitempty" enum:"held,waited" doc:"held = all held locks; waited = only held locks with calls in their waiting lines; absent = held"`
}

// LockListResult is one page of the list.
type LockListResult struct {
	Locks  []LockEntry `codec:"locks" doc:"the held locks of this page; a page may be empty without being the last"`
	Cursor string      `codec:"cursor,omitempty" doc:"the cursor of the next page; absent = this was the last page"`
}

// LockEntry is a held lock in the list.
type LockEntry struct {
	Name   string  `codec:"name" doc:"the lock"`
	Fence  string  `codec:"fence" doc:"the owner's fence"`
	TTLMS  int64   `codec:"ttl_ms" doc:"milliseconds until the lease ends"`
	HeldBy *Holder `codec:"held_by" doc:"the holder"`
	// Waiting is 0 if the waiting line is empty.
	Waiting int64 `codec:"waiting,omitempty" doc:"how many calls are in its waiting line"`
}

// The states that a list can select by.
const (
	StateHeld   = "held"
	StateWaited = "waited"
)

// The decisions of an explanation that are not refusals.
const (
	// ExplainAcquired: a call would acquire what it asks for.
	ExplainAcquired = "acquired"
	// ExplainAllowed: a breaker would allow a call. ExplainProbe: it would allow the call as a probe.
	ExplainAllowed = "allowed"
	ExplainProbe   = "probe"
)

// LockExplainResult is what lock.acquire would return, and everything that decides it.
type LockExplainResult struct {
	Decision     string  `codec:"decision" enum:"acquired,busy" doc:"what a call without wait_ms would get now: acquired; busy = the lock is held, or other calls are in its waiting line"`
	RetryAfterMS int64   `codec:"retry_after_ms" doc:"0 when it would be acquired; else milliseconds until the holder's lease ends, or until it is worth asking again while other calls are in the waiting line"`
	Text         string  `codec:"text" doc:"the decision as a sentence for people"`
	Held         bool    `codec:"held" doc:"it is held"`
	HeldBy       *Holder `codec:"held_by,omitempty" doc:"the holder"`
	Fence        string  `codec:"fence,omitempty" doc:"the owner's fence"`
	TTLMS        int64   `codec:"ttl_ms,omitempty" doc:"milliseconds until the lease ends unless it is renewed"`
	Bind         string  `codec:"bind,omitempty" enum:"session,ttl" doc:"what keeps it held: session = a sidecar renews it while the owner's connection is open; ttl = only the owner renews it"`
	FinalAtMS    int64   `codec:"final_at_ms,omitempty" doc:"when the owner's max_hold_ms ends, beyond which no renewal extends the lease, by the Redis server's clock, Unix milliseconds; absent = never"`

	Waiting int64         `codec:"waiting" doc:"how many calls are in its waiting line"`
	Line    []ExplainLine `codec:"line" doc:"which sidecars these calls belong to, in the order of their first calls; of the first 1,000 calls at most, and at most 20 sidecars"`
}

// ExplainLine counts one sidecar's calls in a waiting line.
type ExplainLine struct {
	Sidecar string `codec:"sidecar" doc:"the sidecar's id, as inspect.sidecars lists it"`
	Waiting int64  `codec:"waiting" doc:"how many of its calls are in the line"`
	LeftMS  int64  `codec:"left_ms" doc:"milliseconds until its tickets end unless it sends a heartbeat, rounded up; 0 = it seems dead, and its calls are skipped"`
}

// LockForceReleaseParams are a lock and the reason for taking it away.
type LockForceReleaseParams struct {
	Name   string `codec:"name" required:"true" doc:"the lock"`
	Reason string `codec:"reason,omitempty" doc:"the reason, for the log and the event; at most 512 bytes"`
}

// LockForceReleaseResult reports who held the lock.
type LockForceReleaseResult struct {
	Released bool    `codec:"released" doc:"the lock was held, and is free now"`
	Fence    string  `codec:"fence,omitempty" doc:"the fence of the former holder"`
	HeldBy   *Holder `codec:"held_by,omitempty" doc:"the former holder"`
}

// LostParams identify the lease that was lost, and the reason.
type LostParams struct {
	Name   string `codec:"name" doc:"the name of what was held"`
	Token  string `codec:"token" doc:"the owner's secret"`
	Fence  string `codec:"fence" doc:"the lost grant's fence"`
	Reason string `codec:"reason" enum:"not_owner,expired,unreachable,max_hold" doc:"not_owner = another owner holds it now; expired = Redis no longer has the lease; unreachable = the sidecar could not renew it in time; max_hold = it was held for max_hold_ms"`
}
