package api

// The lock's methods.
var (
	LockAcquire = define[LockAcquireParams, LockAcquireResult](Spec{
		Name: "lock.acquire", Since: "0.1.0",
		Summary: "Takes a lock, at once or in turn within wait_ms, or says who holds it. Repeating it with the same token answers the same grant.",
	})
	LockRenew = define[LockRenewParams, LockRenewResult](Spec{
		Name: "lock.renew", Idempotent: true, Since: "0.1.0",
		Summary: "Renews a lock that this token holds: it lasts so long from now on, shorter or longer. " +
			"Locks bound to the session are renewed by the sidecar, so from then on.",
	})
	LockRelease = define[LockReleaseParams, LockReleaseResult](Spec{
		Name: "lock.release", Idempotent: true, Notify: true, Since: "0.1.0",
		Summary: "Gives a lock back, if this token holds it.",
	})
	LockGet = define[LockGetParams, LockGetResult](Spec{
		Name: "lock.get", Idempotent: true, Since: "0.1.0",
		Summary: "Says whether a lock is held, by whom and for how long.",
	})
	LockList = define[LockListParams, LockListResult](Spec{
		Name: "lock.list", Idempotent: true, Since: "0.1.0",
		Summary: "Lists the locks that are held, a page at a time, in no order. One that is taken or freed meanwhile may be missing or be there still.",
	})
	LockExplain = define[LockGetParams, LockExplainResult](Spec{
		Name: "lock.explain", Idempotent: true, Since: "0.1.0",
		Summary: "Tells why a lock would be refused now and until when: who holds it, what keeps it held, and who stands in line. It takes nothing.",
	})
	LockForceRelease = define[LockForceReleaseParams, LockForceReleaseResult](Spec{
		Name: "lock.force_release", Admin: true, Since: "0.1.0",
		Summary: "Frees a lock whoever holds it, and says who did. The owner is told that it is lost; the next one's fence is higher.",
	})
	LockLost = defineEvent[LostParams](Spec{
		Name: "lock.lost", Since: "0.1.0",
		Summary: "A lock of this connection is no longer its own. Sent before its validity ends.",
	})
)

// What a lease is bound to.
const (
	// BindSession: renewed by the sidecar while the connection lives, released when it closes.
	BindSession = "session"
	// BindTTL: it lives for its TTL unless renewed, across connections.
	BindTTL = "ttl"
)

// LockAcquireParams name a lock and how long to hold it.
type LockAcquireParams struct {
	Name         string `codec:"name" required:"true" doc:"the lock"`
	TTLMS        int64  `codec:"ttl_ms,omitempty" default:"30000" min:"100" max:"86400000" doc:"milliseconds until it is free again unless renewed"`
	WaitMS       int64  `codec:"wait_ms,omitempty" default:"0" min:"0" max:"60000" doc:"milliseconds to stand in line for it, within the call's deadline; first come, first served across all pods"`
	Token        string `codec:"token,omitempty" doc:"the owner's secret; made by the sidecar when absent"`
	WaitReplicas int64  `codec:"wait_replicas,omitempty" default:"0" min:"0" max:"16" doc:"how many replicas of Redis must have the grant, or it is given back; for fewer second holders after a failover"`
	MaxHoldMS    int64  `codec:"max_hold_ms,omitempty" default:"0" min:"0" max:"604800000" doc:"milliseconds after which it is lost, whoever renews it; 0 = never"`
	Meta         string `codec:"meta,omitempty" doc:"shown with the holder, such as a job's id; at most 512 bytes"`
	Bind         string `codec:"bind,omitempty" default:"session" enum:"session,ttl" doc:"session = renewed while this connection lives and released when it closes; ttl = neither"`
}

// LockAcquireResult is a grant, or who is in the way.
type LockAcquireResult struct {
	Acquired     bool    `codec:"acquired" doc:"the lock is held by this token"`
	Token        string  `codec:"token,omitempty" doc:"the owner's secret, for renew and release"`
	Fence        string  `codec:"fence,omitempty" doc:"a decimal number that rises with every new owner; give it to what the lock protects"`
	TTLMS        int64   `codec:"ttl_ms" doc:"milliseconds that the present owner has left at least"`
	HeldBy       *Holder `codec:"held_by,omitempty" doc:"who holds it, when it is not acquired"`
	RetryAfterMS int64   `codec:"retry_after_ms" doc:"0 when acquired; else milliseconds until the holder's TTL ends, or when to ask again while others stand in line"`
	WaitedMS     int64   `codec:"waited_ms,omitempty" doc:"milliseconds it stood in line until the answer was asked for, rounded down"`
	Replayed     bool    `codec:"replayed,omitempty" doc:"the answer is about an earlier grant with the same request id"`
	Reason       string  `codec:"reason,omitempty" enum:"busy,replicas,released,expired" doc:"why it is not acquired; replicas = too few had the grant, and it was given back; released or expired = what became of a replayed grant"`
}

// Holder is who holds something, by the names of its session.hello.
type Holder struct {
	Client    string `codec:"client" doc:"the client program"`
	Instance  string `codec:"instance" doc:"which one it is"`
	SinceAtMS int64  `codec:"since_at_ms" doc:"since when, by the Redis server's clock, Unix milliseconds"`
	Meta      string `codec:"meta,omitempty" doc:"what it said of itself when it acquired"`
}

// LockRenewParams name the lock, its owner and the new TTL.
type LockRenewParams struct {
	Name  string `codec:"name" required:"true" doc:"the lock"`
	Token string `codec:"token" required:"true" doc:"the owner's secret"`
	TTLMS int64  `codec:"ttl_ms,omitempty" default:"30000" min:"100" max:"86400000" doc:"milliseconds from now until it is free again"`
}

// LockRenewResult says whether the lock is still this token's.
type LockRenewResult struct {
	Renewed bool   `codec:"renewed" doc:"the lock is held for ttl_ms more"`
	Fence   string `codec:"fence,omitempty" doc:"the grant's fence, unchanged"`
	TTLMS   int64  `codec:"ttl_ms" doc:"milliseconds left at least; 0 when it is not held by this token"`
	Reason  string `codec:"reason" enum:"renewed,not_owner,expired" doc:"what was found"`
}

// LockReleaseParams name the lock and its owner.
type LockReleaseParams struct {
	Name  string `codec:"name" required:"true" doc:"the lock"`
	Token string `codec:"token" required:"true" doc:"the owner's secret"`
}

// LockReleaseResult says what was found, as data.
type LockReleaseResult struct {
	Released bool   `codec:"released" doc:"the lock was this token's and is free now"`
	Reason   string `codec:"reason" enum:"released,not_owner,expired" doc:"what was found"`
}

// LockGetParams name a lock.
type LockGetParams struct {
	Name string `codec:"name" required:"true" doc:"the lock"`
}

// LockGetResult never holds the token.
type LockGetResult struct {
	Held   bool    `codec:"held" doc:"someone holds it"`
	Fence  string  `codec:"fence,omitempty" doc:"the present owner's fence"`
	TTLMS  int64   `codec:"ttl_ms,omitempty" doc:"milliseconds that the owner has left"`
	HeldBy *Holder `codec:"held_by,omitempty" doc:"who holds it"`
	// Waiting is 0 for a lock that nobody waits for.
	Waiting int64 `codec:"waiting,omitempty" doc:"how many calls stand in line for it"`
}

// LockListParams say where to go on.
type LockListParams struct {
	Cursor string `codec:"cursor,omitempty" doc:"the cursor of the page before; absent = from the start"`
	Count  int64  `codec:"count,omitempty" default:"100" min:"1" max:"1000" doc:"about how many to list"`
	State  string `codec:"state,omitempty" enum:"held,waited" doc:"held = all that are held; waited = only those that calls stand in line for; absent = held"`
}

// LockListResult is one page.
type LockListResult struct {
	Locks  []LockEntry `codec:"locks" doc:"those of this page that are held; it may have none and not be the last"`
	Cursor string      `codec:"cursor,omitempty" doc:"where the next page begins; absent = this was the last"`
}

// LockEntry is one lock that is held.
type LockEntry struct {
	Name   string  `codec:"name" doc:"the lock"`
	Fence  string  `codec:"fence" doc:"the owner's fence"`
	TTLMS  int64   `codec:"ttl_ms" doc:"milliseconds that the owner has left"`
	HeldBy *Holder `codec:"held_by" doc:"who holds it"`
	// Waiting is 0 for a lock that nobody waits for.
	Waiting int64 `codec:"waiting,omitempty" doc:"how many calls stand in line for it"`
}

// The states by which lists choose.
const (
	StateHeld   = "held"
	StateWaited = "waited"
)

// The decisions of an explanation that are no reasons of a refusal.
const (
	// ExplainAcquired: a call would get what it asks for.
	ExplainAcquired = "acquired"
	// ExplainAllowed: a breaker would let a call pass; ExplainProbe: as a probe.
	ExplainAllowed = "allowed"
	ExplainProbe   = "probe"
)

// LockExplainResult has the answer to a call for a lock, and all that decides about it.
type LockExplainResult struct {
	Decision     string  `codec:"decision" enum:"acquired,busy" doc:"what a call without wait_ms would be told now: acquired, or busy = it is held, or others stand in line for it"`
	RetryAfterMS int64   `codec:"retry_after_ms" doc:"0 when it would be acquired; else milliseconds until the holder's TTL ends, or when to ask again while others stand in line"`
	Text         string  `codec:"text" doc:"the same as a sentence for people"`
	Held         bool    `codec:"held" doc:"someone holds it"`
	HeldBy       *Holder `codec:"held_by,omitempty" doc:"who holds it"`
	Fence        string  `codec:"fence,omitempty" doc:"the owner's fence"`
	TTLMS        int64   `codec:"ttl_ms,omitempty" doc:"milliseconds that the owner has left unless it is renewed"`
	Bind         string  `codec:"bind,omitempty" enum:"session,ttl" doc:"what keeps it held: session = a sidecar renews it while the owner's connection lives; ttl = only the owner renews it"`
	FinalAtMS    int64   `codec:"final_at_ms,omitempty" doc:"when max_hold_ms of its owner is over, after which no renewal extends it, by the Redis server's clock, Unix milliseconds; absent = never"`

	Waiting int64         `codec:"waiting" doc:"how many calls stand in line for it"`
	Line    []ExplainLine `codec:"line" doc:"whose they are, the first in line first; of at most the first 1,000 calls, and at most 20 sidecars"`
}

// ExplainLine counts the calls of one sidecar in a waiting line.
type ExplainLine struct {
	Sidecar string `codec:"sidecar" doc:"the sidecar, as inspect.sidecars lists it"`
	Waiting int64  `codec:"waiting" doc:"how many of its calls stand in line"`
	LeftMS  int64  `codec:"left_ms" doc:"milliseconds for which its places are kept unless it shows that it lives, rounded up; 0 = it seems dead, and is passed over"`
}

// LockForceReleaseParams name a lock, and why it is taken away.
type LockForceReleaseParams struct {
	Name   string `codec:"name" required:"true" doc:"the lock"`
	Reason string `codec:"reason,omitempty" doc:"for the log and the event, at most 512 bytes"`
}

// LockForceReleaseResult says whose it was.
type LockForceReleaseResult struct {
	Released bool    `codec:"released" doc:"it was held and is free now"`
	Fence    string  `codec:"fence,omitempty" doc:"the fence of who held it"`
	HeldBy   *Holder `codec:"held_by,omitempty" doc:"who held it"`
}

// LostParams say which lease was lost, and why.
type LostParams struct {
	Name   string `codec:"name" doc:"what was held"`
	Token  string `codec:"token" doc:"the owner's secret"`
	Fence  string `codec:"fence" doc:"the lost grant's fence"`
	Reason string `codec:"reason" enum:"not_owner,expired,unreachable,max_hold" doc:"not_owner = someone else holds it; expired = it is gone from Redis; unreachable = it could not be renewed in time; max_hold = it was held as long as it may be"`
}
