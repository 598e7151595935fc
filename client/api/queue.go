package api

// The queue's methods.
var (
	QueueEnqueue = define[QueueEnqueueParams, QueueEnqueueResult](Spec{
		Name: "queue.enqueue", Since: "0.1.0",
		Summary: "Puts an entry at the end of a queue, or answers where the entry of that id is.",
	})
	QueueDequeue = define[QueueDequeueParams, QueueDequeueResult](Spec{
		Name: "queue.dequeue", Since: "0.1.0",
		Summary: "Takes the first entry of a queue that has not expired, at once or in turn within wait_ms. " +
			"With lease_ms it comes back to the head unless it is acknowledged.",
	})
	QueueAck = define[QueueLeaseParams, QueueAckResult](Spec{
		Name: "queue.ack", Idempotent: true, Notify: true, Since: "0.1.0",
		Summary: "Ends the lease of an entry that was dealt with: it does not come back.",
	})
	QueueRelease = define[QueueLeaseParams, QueueReleaseResult](Spec{
		Name: "queue.release", Idempotent: true, Notify: true, Since: "0.1.0",
		Summary: "Ends the lease of an entry that was not dealt with: it is at the head again at once.",
	})
	QueueRenew = define[QueueRenewParams, QueueRenewResult](Spec{
		Name: "queue.renew", Idempotent: true, Since: "0.1.0",
		Summary: "Renews the lease of an entry: it lasts so long from now on, shorter or longer. " +
			"Those bound to the session are renewed by the sidecar, so from then on.",
	})
	QueuePosition = define[QueueEntryParams, QueuePositionResult](Spec{
		Name: "queue.position", Idempotent: true, Since: "0.1.0",
		Summary: "Says where an entry stands.",
	})
	QueueCancel = define[QueueEntryParams, QueueCancelResult](Spec{
		Name: "queue.cancel", Idempotent: true, Notify: true, Since: "0.1.0",
		Summary: "Takes an entry out of the queue, unless someone has it.",
	})
	QueueStats = define[QueueParams, QueueStatsResult](Spec{
		Name: "queue.stats", Idempotent: true, Since: "0.1.0",
		Summary: "Counts the entries of a queue, and who waits for one.",
	})
	QueueList = define[QueueListParams, QueueListResult](Spec{
		Name: "queue.list", Idempotent: true, Since: "0.1.0",
		Summary: "Lists the queues that have entries or that calls wait at, a page at a time, in no order. What changes meanwhile may be missing or be there still.",
	})
	QueueLost = defineEvent[LostParams](Spec{
		Name: "queue.lost", Since: "0.1.0",
		Summary: "The lease of an entry is no longer this connection's: token is the lease. The entry is at the head again, or gone.",
	})
)

// MaxBodyBytes is the most bytes of an entry's or a message's body.
const MaxBodyBytes = 256 << 10

// QueueEnqueueParams are one entry.
type QueueEnqueueParams struct {
	Queue string `codec:"queue" required:"true" doc:"the queue"`
	ID    string `codec:"id" required:"true" doc:"the entry; the same id is in a queue once"`
	TTLMS int64  `codec:"ttl_ms,omitempty" default:"60000" min:"1" max:"2592000000" doc:"milliseconds until it expires if nobody takes it; while it is leased it does not"`
	Body  []byte `codec:"body,omitempty" maxlen:"262144" doc:"any bytes, at most 256 KiB, given to who takes it"`
}

// QueueEnqueueResult says where the entry is.
type QueueEnqueueResult struct {
	Enqueued bool  `codec:"enqueued" doc:"it is new; else its id was there already, and it is as it was"`
	Position int64 `codec:"position" doc:"how many are before it, itself included, those that expired but are not yet removed too; 0 = someone has it"`
	Depth    int64 `codec:"depth" doc:"how many entries are in the queue"`
	Replayed bool  `codec:"replayed,omitempty" doc:"the answer of an earlier call with the same request id; the entry may have been taken since"`
}

// QueueDequeueParams say how to take an entry.
type QueueDequeueParams struct {
	Queue   string `codec:"queue" required:"true" doc:"the queue"`
	WaitMS  int64  `codec:"wait_ms,omitempty" default:"0" min:"0" max:"60000" doc:"milliseconds to wait for an entry, within the call's deadline; first come, first served across all pods"`
	LeaseMS int64  `codec:"lease_ms,omitempty" default:"0" min:"0" max:"86400000" doc:"milliseconds in which it is to be acknowledged, at least 100; 0 = it is gone from the queue at once"`
	Bind    string `codec:"bind,omitempty" default:"ttl" enum:"session,ttl" doc:"of the lease: ttl = it lasts lease_ms unless renewed; session = it is renewed while this connection lives, and the entry is back at the head when it closes"`
}

// QueueDequeueResult is an entry, or that there is none.
type QueueDequeueResult struct {
	Found        bool   `codec:"found" doc:"there was an entry"`
	ID           string `codec:"id,omitempty" doc:"its id"`
	Body         []byte `codec:"body,omitempty" doc:"its body"`
	Lease        string `codec:"lease,omitempty" doc:"for queue.ack, release and renew"`
	Attempt      int64  `codec:"attempt,omitempty" doc:"how often it has been taken, from 1"`
	EnqueuedAtMS int64  `codec:"enqueued_at_ms,omitempty" doc:"when it came, by the Redis server's clock, Unix milliseconds"`
	Depth        int64  `codec:"depth" doc:"how many entries are left in the queue"`
	RetryAfterMS int64  `codec:"retry_after_ms" doc:"0 when found; else milliseconds until a lease ends and its entry may be back, at most 1000, or when to ask again"`
	WaitedMS     int64  `codec:"waited_ms,omitempty" doc:"milliseconds it waited until the answer was asked for, rounded down"`
	Replayed     bool   `codec:"replayed,omitempty" doc:"the entry of an earlier call with the same request id"`
	Reason       string `codec:"reason,omitempty" enum:"empty,busy,released,expired" doc:"why there is none: empty; busy = others wait for one; released or expired = what became of a replayed lease"`
}

// QueueLeaseParams name a leased entry.
type QueueLeaseParams struct {
	Queue string `codec:"queue" required:"true" doc:"the queue"`
	Lease string `codec:"lease" required:"true" doc:"what queue.dequeue answered"`
}

// QueueRenewParams name a leased entry and its new time.
type QueueRenewParams struct {
	Queue   string `codec:"queue" required:"true" doc:"the queue"`
	Lease   string `codec:"lease" required:"true" doc:"what queue.dequeue answered"`
	LeaseMS int64  `codec:"lease_ms" required:"true" min:"100" max:"86400000" doc:"milliseconds from now until it comes back"`
}

// QueueAckResult says what was found.
type QueueAckResult struct {
	Acked  bool   `codec:"acked" doc:"the entry was this lease's and is gone"`
	Reason string `codec:"reason" enum:"acked,expired" doc:"what was found; expired = it went back to the head, or someone else has it"`
}

// QueueReleaseResult says what was found.
type QueueReleaseResult struct {
	Released bool   `codec:"released" doc:"the entry is at the head again"`
	Reason   string `codec:"reason" enum:"released,expired" doc:"what was found"`
}

// QueueRenewResult says what was found.
type QueueRenewResult struct {
	Renewed bool   `codec:"renewed" doc:"the entry is this lease's for lease_ms more"`
	LeaseMS int64  `codec:"lease_ms" doc:"milliseconds left at least; 0 when it is not"`
	Reason  string `codec:"reason" enum:"renewed,expired" doc:"what was found"`
}

// QueueEntryParams name an entry.
type QueueEntryParams struct {
	Queue string `codec:"queue" required:"true" doc:"the queue"`
	ID    string `codec:"id" required:"true" doc:"the entry"`
}

// QueuePositionResult says where an entry is.
type QueuePositionResult struct {
	State    string `codec:"state" enum:"waiting,leased,absent" doc:"leased = someone has it; absent = it was taken, expired or never came"`
	Position int64  `codec:"position" doc:"how many are before it, itself included, those that expired but are not yet removed too; 0 unless it is waiting"`
	Depth    int64  `codec:"depth" doc:"how many entries are in the queue"`
}

// QueueCancelResult says what was found.
type QueueCancelResult struct {
	Cancelled bool   `codec:"cancelled" doc:"it was taken out"`
	State     string `codec:"state" enum:"waiting,leased,absent" doc:"what it was"`
}

// QueueParams name a queue.
type QueueParams struct {
	Queue string `codec:"queue" required:"true" doc:"the queue"`
}

// QueueStatsResult are counts of one instant.
type QueueStatsResult struct {
	Depth    int64 `codec:"depth" doc:"entries in the queue, those that expired but are not yet removed too"`
	Leased   int64 `codec:"leased" doc:"entries that someone has"`
	Waiting  int64 `codec:"waiting" doc:"calls that wait for an entry"`
	OldestMS int64 `codec:"oldest_ms" doc:"milliseconds since the first entry came; 0 when there is none"`
}

// QueueListParams say where to go on.
type QueueListParams struct {
	Cursor string `codec:"cursor,omitempty" doc:"the cursor of the page before; absent = from the start"`
	Count  int64  `codec:"count,omitempty" default:"100" min:"1" max:"1000" doc:"about how many to list"`
	State  string `codec:"state,omitempty" enum:"entries,leased,empty" doc:"entries = only those in which entries wait to be taken; leased = only those of which someone has entries; empty = only those in which none waits; absent = all"`
}

// QueueListResult is one page.
type QueueListResult struct {
	Queues []QueueListed `codec:"queues" doc:"those of this page; it may have none and not be the last"`
	Cursor string        `codec:"cursor,omitempty" doc:"where the next page begins; absent = this was the last"`
}

// QueueListed is one queue.
type QueueListed struct {
	Queue    string        `codec:"queue" doc:"the queue"`
	Depth    int64         `codec:"depth" doc:"entries that wait to be taken, those that expired but are not yet removed too"`
	Leased   int64         `codec:"leased" doc:"entries that someone has"`
	Waiting  int64         `codec:"waiting" doc:"calls that wait for an entry"`
	OldestMS int64         `codec:"oldest_ms" doc:"milliseconds since the first entry came; 0 when there is none"`
	Holders  []QueueHolder `codec:"holders" doc:"who has entries, by when their leases end; at most 3"`
}

// QueueHolder is a connection that has an entry.
type QueueHolder struct {
	ID      string `codec:"id" doc:"the entry"`
	Attempt int64  `codec:"attempt" doc:"how often it has been taken, from 1"`
	LeftMS  int64  `codec:"left_ms" doc:"milliseconds until the lease ends unless it is renewed, rounded up"`
	Session string `codec:"session" doc:"the connection that took it, as inspect.snapshot of its sidecar lists it"`
}

// The states by which queue.list chooses.
const (
	QueueEntries = "entries"
	QueueLeased  = "leased"
	QueueEmpty   = "empty"
)
