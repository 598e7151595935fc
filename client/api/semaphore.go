package api

// The semaphore's methods.
var (
	SemaphoreAcquire = define[SemaphoreAcquireParams, SemaphoreAcquireResult](Spec{
		Name: "semaphore.acquire", Since: "0.1.0",
		Summary: "Takes permits of a semaphore, all or none, at once or in turn within wait_ms. Repeating it with the same token answers the same grant.",
	})
	SemaphoreRenew = define[SemaphoreRenewParams, SemaphoreRenewResult](Spec{
		Name: "semaphore.renew", Idempotent: true, Since: "0.1.0",
		Summary: "Renews the permits of this token: they last so long from now on, shorter or longer. " +
			"Those bound to the session are renewed by the sidecar, so from then on.",
	})
	SemaphoreRelease = define[SemaphoreReleaseParams, SemaphoreReleaseResult](Spec{
		Name: "semaphore.release", Idempotent: true, Notify: true, Since: "0.1.0",
		Summary: "Gives the permits of this token back, and nobody else's.",
	})
	SemaphoreGet = define[SemaphoreGetParams, SemaphoreGetResult](Spec{
		Name: "semaphore.get", Idempotent: true, Since: "0.1.0",
		Summary: "Says how many permits are held, and by whom.",
	})
	SemaphoreList = define[SemaphoreListParams, SemaphoreListResult](Spec{
		Name: "semaphore.list", Idempotent: true, Since: "0.1.0",
		Summary: "Lists the semaphores of which permits are held or waited for, a page at a time, in no order. " +
			"What changes meanwhile may be missing or be there still.",
	})
	SemaphoreLost = defineEvent[LostParams](Spec{
		Name: "semaphore.lost", Since: "0.1.0",
		Summary: "Permits of this connection are no longer its own. Sent before their validity ends.",
	})
)

// MaxSemaphoreLimit is the most permits of one semaphore.
const MaxSemaphoreLimit = 10_000

// SemaphoreAcquireParams name a semaphore, what of it to take, and for how long.
type SemaphoreAcquireParams struct {
	Name         string `codec:"name" required:"true" doc:"the semaphore"`
	Limit        int64  `codec:"limit" required:"true" min:"1" max:"10000" doc:"how many permits it has; each call goes by its own limit, so give the same everywhere"`
	Permits      int64  `codec:"permits,omitempty" default:"1" min:"1" max:"10000" doc:"how many to take, at most limit"`
	TTLMS        int64  `codec:"ttl_ms,omitempty" default:"30000" min:"100" max:"86400000" doc:"milliseconds until they are free again unless renewed"`
	WaitMS       int64  `codec:"wait_ms,omitempty" default:"0" min:"0" max:"60000" doc:"milliseconds to stand in line for them, within the call's deadline; first come, first served across all pods, and nobody passes who asks for many"`
	Token        string `codec:"token,omitempty" doc:"the owner's secret; made by the sidecar when absent"`
	WaitReplicas int64  `codec:"wait_replicas,omitempty" default:"0" min:"0" max:"16" doc:"how many replicas of Redis must have the grant, or it is given back"`
	MaxHoldMS    int64  `codec:"max_hold_ms,omitempty" default:"0" min:"0" max:"604800000" doc:"milliseconds after which they are lost, whoever renews them; 0 = never"`
	Meta         string `codec:"meta,omitempty" doc:"shown with the holder; at most 512 bytes"`
	Bind         string `codec:"bind,omitempty" default:"session" enum:"session,ttl" doc:"session = renewed while this connection lives and released when it closes; ttl = neither"`
}

// SemaphoreAcquireResult is a grant, or what is in the way.
type SemaphoreAcquireResult struct {
	Acquired     bool   `codec:"acquired" doc:"the permits are held by this token"`
	Token        string `codec:"token,omitempty" doc:"the owner's secret, for renew and release"`
	Fence        string `codec:"fence,omitempty" doc:"a decimal number that rises with every grant; give it to what the semaphore protects"`
	TTLMS        int64  `codec:"ttl_ms" doc:"milliseconds that the grant has left at least; 0 when it is not acquired"`
	Free         int64  `codec:"free" doc:"how many permits of limit are free after this call"`
	RetryAfterMS int64  `codec:"retry_after_ms" doc:"0 when acquired; else milliseconds until enough TTLs have ended, or when to ask again while others stand in line"`
	WaitedMS     int64  `codec:"waited_ms,omitempty" doc:"milliseconds it stood in line until the answer was asked for, rounded down"`
	Replayed     bool   `codec:"replayed,omitempty" doc:"the answer is about an earlier grant with the same request id"`
	Reason       string `codec:"reason,omitempty" enum:"busy,replicas,released,expired" doc:"why it is not acquired; replicas = too few had the grant, and it was given back; released or expired = what became of a replayed grant"`
}

// SemaphoreRenewParams name the semaphore, the owner and the new TTL.
type SemaphoreRenewParams struct {
	Name  string `codec:"name" required:"true" doc:"the semaphore"`
	Token string `codec:"token" required:"true" doc:"the owner's secret"`
	TTLMS int64  `codec:"ttl_ms,omitempty" default:"30000" min:"100" max:"86400000" doc:"milliseconds from now until they are free again"`
}

// SemaphoreRenewResult says whether the permits are still this token's.
type SemaphoreRenewResult struct {
	Renewed bool   `codec:"renewed" doc:"the permits are held for ttl_ms more"`
	Fence   string `codec:"fence,omitempty" doc:"the grant's fence, unchanged"`
	TTLMS   int64  `codec:"ttl_ms" doc:"milliseconds left at least; 0 when they are not held by this token"`
	Reason  string `codec:"reason" enum:"renewed,expired" doc:"what was found"`
}

// SemaphoreReleaseParams name the semaphore and the owner.
type SemaphoreReleaseParams struct {
	Name  string `codec:"name" required:"true" doc:"the semaphore"`
	Token string `codec:"token" required:"true" doc:"the owner's secret"`
}

// SemaphoreReleaseResult says what was found, as data.
type SemaphoreReleaseResult struct {
	Released bool   `codec:"released" doc:"the permits were this token's and are free now"`
	Reason   string `codec:"reason" enum:"released,expired" doc:"what was found"`
}

// SemaphoreGetParams name a semaphore.
type SemaphoreGetParams struct {
	Name string `codec:"name" required:"true" doc:"the semaphore"`
}

// SemaphoreGetResult never holds a token.
type SemaphoreGetResult struct {
	Held    int64             `codec:"held" doc:"how many permits are held"`
	Waiting int64             `codec:"waiting,omitempty" doc:"how many calls stand in line"`
	Holders []SemaphoreHolder `codec:"holders" doc:"who holds them, by when their TTLs end; at most 100"`
}

// SemaphoreHolder is one grant.
type SemaphoreHolder struct {
	Permits int64   `codec:"permits" doc:"how many it holds"`
	Fence   string  `codec:"fence" doc:"its fence"`
	TTLMS   int64   `codec:"ttl_ms" doc:"milliseconds that it has left"`
	HeldBy  *Holder `codec:"held_by" doc:"who holds them"`
}

// SemaphoreListParams say where to go on.
type SemaphoreListParams struct {
	Cursor string `codec:"cursor,omitempty" doc:"the cursor of the page before; absent = from the start"`
	Count  int64  `codec:"count,omitempty" default:"100" min:"1" max:"1000" doc:"about how many to list"`
	State  string `codec:"state,omitempty" enum:"held,waited" doc:"held = only those of which permits are held; waited = only those that calls stand in line for; absent = both"`
}

// SemaphoreListResult is one page.
type SemaphoreListResult struct {
	Semaphores []SemaphoreListed `codec:"semaphores" doc:"those of this page; it may have none and not be the last"`
	Cursor     string            `codec:"cursor,omitempty" doc:"where the next page begins; absent = this was the last"`
}

// SemaphoreListed is one semaphore.
type SemaphoreListed struct {
	Name    string            `codec:"name" doc:"the semaphore"`
	Held    int64             `codec:"held" doc:"how many permits are held"`
	Waiting int64             `codec:"waiting" doc:"how many calls stand in line"`
	Holders []SemaphoreHolder `codec:"holders" doc:"who holds them, by when their TTLs end; at most 3"`
}
