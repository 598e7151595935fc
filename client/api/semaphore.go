package api

// The methods and the event of semaphores.
var (
	SemaphoreAcquire = define[SemaphoreAcquireParams, SemaphoreAcquireResult](Spec{
		Name: "semaphore.acquire", Since: "0.1.0",
		Summary: "Acquires permits of a semaphore, all or none, at once or in turn within wait_ms. A repeated call with the same token returns the same grant.",
	})
	SemaphoreRenew = define[SemaphoreRenewParams, SemaphoreRenewResult](Spec{
		Name: "semaphore.renew", Idempotent: true, Since: "0.1.0",
		Summary: "Renews the permits of this token: from now on they last the given time, which may be shorter or longer than what was left. " +
			"The sidecar renews leases that are bound to the session itself, with the new time from then on.",
	})
	SemaphoreRelease = define[SemaphoreReleaseParams, SemaphoreReleaseResult](Spec{
		Name: "semaphore.release", Idempotent: true, Notify: true, Since: "0.1.0",
		Summary: "Releases the permits of this token.",
	})
	SemaphoreGet = define[SemaphoreGetParams, SemaphoreGetResult](Spec{
		Name: "semaphore.get", Idempotent: true, Since: "0.1.0",
		Summary: "Returns how many permits are held, and by whom.",
	})
	SemaphoreList = define[SemaphoreListParams, SemaphoreListResult](Spec{
		Name: "semaphore.list", Idempotent: true, Since: "0.1.0",
		Summary: "Lists the semaphores with permits that are held or waited for, one page at a time, in no particular order. " +
			"An entry that is added or removed during the listing may be missing or still listed.",
	})
	SemaphoreLost = defineEvent[LostParams](Spec{
		Name: "semaphore.lost", Since: "0.1.0",
		Summary: "This connection has lost permits. Sent before their lease ends.",
	})
)

// MaxSemaphoreLimit is the most permits of one semaphore.
const MaxSemaphoreLimit = 10_000

// SemaphoreAcquireParams select a semaphore and how many permits to acquire, and set how to hold them.
type SemaphoreAcquireParams struct {
	Name         string `codec:"name" required:"true" doc:"the semaphore"`
	Limit        int64  `codec:"limit" required:"true" min:"1" max:"10000" doc:"how many permits the semaphore has. Redis does not keep the limit: each call uses its own, so pass the same one everywhere"`
	Permits      int64  `codec:"permits,omitempty" default:"1" min:"1" max:"10000" doc:"how many permits to acquire, at most limit"`
	TTLMS        int64  `codec:"ttl_ms,omitempty" default:"30000" min:"100" max:"86400000" doc:"milliseconds that the lease of the permits lasts unless it is renewed"`
	WaitMS       int64  `codec:"wait_ms,omitempty" default:"0" min:"0" max:"60000" doc:"how many milliseconds the call may be in the waiting line, within its deadline; first come, first served across all pods: a call for few permits does not overtake one for many"`
	Token        string `codec:"token,omitempty" doc:"the owner's secret; the sidecar makes one when it is absent"`
	WaitReplicas int64  `codec:"wait_replicas,omitempty" default:"0" min:"0" max:"16" doc:"how many replicas of Redis must have the grant; if fewer do in time, it is given back"`
	MaxHoldMS    int64  `codec:"max_hold_ms,omitempty" default:"0" min:"0" max:"604800000" doc:"milliseconds after which they are lost even if they are renewed; 0 = never"`
	Meta         string `codec:"meta,omitempty" doc:"a text that is shown with the holder, at most 512 bytes"`
	Bind         string `codec:"bind,omitempty" default:"session" enum:"session,ttl" doc:"session = the sidecar renews it while this connection is open and releases it when the connection closes; ttl = it does neither"`
}

// SemaphoreAcquireResult is a grant, or why there is none.
type SemaphoreAcquireResult struct {
	Acquired     bool   `codec:"acquired" doc:"this token holds the permits"`
	Token        string `codec:"token,omitempty" doc:"the owner's secret, for renew and release"`
	Fence        string `codec:"fence,omitempty" doc:"a decimal number that rises with every grant; pass it to what the semaphore protects"`
	TTLMS        int64  `codec:"ttl_ms" doc:"the least milliseconds that the lease has left; 0 when it is not acquired"`
	Free         int64  `codec:"free" doc:"how many of the limit's permits are free after this call"`
	RetryAfterMS int64  `codec:"retry_after_ms" doc:"0 when acquired; else milliseconds until enough leases have ended, or until it is worth asking again while other calls are in the waiting line"`
	WaitedMS     int64  `codec:"waited_ms,omitempty" doc:"milliseconds that the call was in the waiting line before Redis was asked for the result, rounded down"`
	Replayed     bool   `codec:"replayed,omitempty" doc:"the call repeats an earlier one with the same request id, and this is about the grant of that one"`
	Reason       string `codec:"reason,omitempty" enum:"busy,replicas,released,expired" doc:"why it is not acquired: busy = others hold it or are before this call in the waiting line; replicas = too few replicas had the grant in time, so it was given back; released or expired = how the grant of a repeated call ended"`
}

// SemaphoreRenewParams are the semaphore, the owner's token and the new TTL.
type SemaphoreRenewParams struct {
	Name  string `codec:"name" required:"true" doc:"the semaphore"`
	Token string `codec:"token" required:"true" doc:"the owner's secret"`
	TTLMS int64  `codec:"ttl_ms,omitempty" default:"30000" min:"100" max:"86400000" doc:"milliseconds that the lease of the permits lasts from now on"`
}

// SemaphoreRenewResult reports whether this token still holds the permits.
type SemaphoreRenewResult struct {
	Renewed bool   `codec:"renewed" doc:"the permits are held for another ttl_ms"`
	Fence   string `codec:"fence,omitempty" doc:"the grant's fence, unchanged"`
	TTLMS   int64  `codec:"ttl_ms" doc:"the least milliseconds that the lease has left; 0 when this token does not hold the permits"`
	Reason  string `codec:"reason" enum:"renewed,expired" doc:"the outcome; expired = the lease had ended"`
}

// SemaphoreReleaseParams are the semaphore and the owner's token.
type SemaphoreReleaseParams struct {
	Name  string `codec:"name" required:"true" doc:"the semaphore"`
	Token string `codec:"token" required:"true" doc:"the owner's secret"`
}

// SemaphoreReleaseResult reports the outcome. A lease that has ended is a reason here, not an error.
type SemaphoreReleaseResult struct {
	Released bool   `codec:"released" doc:"this token held the permits, which are free now"`
	Reason   string `codec:"reason" enum:"released,expired" doc:"the outcome; expired = the lease had ended"`
}

// SemaphoreGetParams select a semaphore.
type SemaphoreGetParams struct {
	Name string `codec:"name" required:"true" doc:"the semaphore"`
}

// SemaphoreGetResult is the state of a semaphore. It never contains a token.
type SemaphoreGetResult struct {
	Held    int64             `codec:"held" doc:"how many permits are held"`
	Waiting int64             `codec:"waiting,omitempty" doc:"how many calls are in its waiting line"`
	Holders []SemaphoreHolder `codec:"holders" doc:"the grants, in the order in which their leases end, at most 100"`
}

// SemaphoreHolder is a grant and its holder.
type SemaphoreHolder struct {
	Permits int64   `codec:"permits" doc:"how many permits it holds"`
	Fence   string  `codec:"fence" doc:"its fence"`
	TTLMS   int64   `codec:"ttl_ms" doc:"milliseconds until its lease ends"`
	HeldBy  *Holder `codec:"held_by" doc:"the holder"`
}

// SemaphoreListParams select one page of the list.
type SemaphoreListParams struct {
	Cursor string `codec:"cursor,omitempty" doc:"the cursor that the previous page returned; absent = the first page"`
	Count  int64  `codec:"count,omitempty" default:"100" min:"1" max:"1000" doc:"about how many entries to list"`
	State  string `codec:"state,omitempty" enum:"held,waited" doc:"held = only semaphores with held permits; waited = only those with calls in their waiting lines; absent = both"`
}

// SemaphoreListResult is one page of the list.
type SemaphoreListResult struct {
	Semaphores []SemaphoreListed `codec:"semaphores" doc:"the entries of this page; a page may be empty without being the last"`
	Cursor     string            `codec:"cursor,omitempty" doc:"the cursor of the next page; absent = this was the last page"`
}

// SemaphoreListed is a semaphore in the list.
type SemaphoreListed struct {
	Name    string            `codec:"name" doc:"the semaphore"`
	Held    int64             `codec:"held" doc:"how many permits are held"`
	Waiting int64             `codec:"waiting" doc:"how many calls are in its waiting line"`
	Holders []SemaphoreHolder `codec:"holders" doc:"the grants, in the order in which their leases end, at most 3"`
}
