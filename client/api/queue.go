package api

// The methods and the event of queues.
var (
	QueueEnqueue = define[QueueEnqueueParams, QueueEnqueueResult](Spec{
		Name: "queue.enqueue", Since: "0.1.0",
		Summary: "Adds an entry at the end of a queue, or returns the position of the entry that has this id already.",
	})
	QueueDequeue = define[QueueDequeueParams, QueueDequeueResult](Spec{
		Name: "queue.dequeue", Since: "0.1.0",
		Summary: "Takes the first entry of a queue that has not expired, at once or in turn within wait_ms. " +
			"With lease_ms the entry returns to the head of the queue unless it is acknowledged.",
	})
	QueueAck = define[QueueLeaseParams, QueueAckResult](Spec{
		Name: "queue.ack", Idempotent: true, Notify: true, Since: "0.1.0",
		Summary: "Acknowledges a leased entry: it is removed for good.",
	})
	QueueRelease = define[QueueLeaseParams, QueueReleaseResult](Spec{
		Name: "queue.release", Idempotent: true, Notify: true, Since: "0.1.0",
		Summary: "Gives up the lease of an entry: it returns to the head of the queue at once.",
	})
	QueueRenew = define[QueueRenewParams, QueueRenewResult](Spec{
		Name: "queue.renew", Idempotent: true, Since: "0.1.0",
		Summary: "Renews the lease of an entry: from now on it lasts the given time, which may be shorter or longer than what was left. " +
			"The sidecar renews leases that are bound to the session itself, with the new time from then on.",
	})
	QueuePosition = define[QueueEntryParams, QueuePositionResult](Spec{
		Name: "queue.position", Idempotent: true, Since: "0.1.0",
		Summary: "Returns the state of an entry and its position in the queue.",
	})
	QueueCancel = define[QueueEntryParams, QueueCancelResult](Spec{
		Name: "queue.cancel", Idempotent: true, Notify: true, Since: "0.1.0",
		Summary: "Removes an entry from the queue, unless it is leased.",
	})
	QueueStats = define[QueueParams, QueueStatsResult](Spec{
		Name: "queue.stats", Idempotent: true, Since: "0.1.0",
		Summary: "Counts the entries of a queue and the calls that wait for one.",
	})
	QueueList = define[QueueListParams, QueueListResult](Spec{
		Name: "queue.list", Idempotent: true, Since: "0.1.0",
		Summary: "Lists the queues with entries or waiting calls, one page at a time, in no particular order. An entry that is added or " +
			"removed during the listing may be missing or still listed.",
	})
	QueueLost = defineEvent[LostParams](Spec{
		Name: "queue.lost", Since: "0.1.0",
		Summary: "This connection has lost the lease of an entry; token is the lease. The entry is at the head of the queue again, or gone.",
	})
)

// MaxBodyBytes is the longest body of a queue entry or a message, in bytes.
const MaxBodyBytes = 256 << 10

// QueueEnqueueParams are an entry.
type QueueEnqueueParams struct {
	Queue string `codec:"queue" required:"true" doc:"the queue"`
	ID    string `codec:"id" required:"true" doc:"the id of the entry; a queue has an id only once"`
	TTLMS int64  `codec:"ttl_ms,omitempty" default:"60000" min:"1" max:"2592000000" doc:"milliseconds until the entry expires unless it is taken; it does not expire while it is leased"`
	Body  []byte `codec:"body,omitempty" maxlen:"262144" doc:"any bytes, at most 256 KiB, which queue.dequeue returns"`
}

// QueueEnqueueResult reports where the entry is.
type QueueEnqueueResult struct {
	Enqueued bool  `codec:"enqueued" doc:"the entry was added; false = the queue had its id already, and that entry is unchanged"`
	Position int64 `codec:"position" doc:"its position, 1 = the first; entries that expired and are not yet removed count too; 0 = it is leased"`
	Depth    int64 `codec:"depth" doc:"how many entries are in the queue"`
	Replayed bool  `codec:"replayed,omitempty" doc:"this is the stored reply of an earlier call with the same request id; the entry may have been taken since then"`
}

// QueueDequeueParams set how to take an entry.
type QueueDequeueParams struct {
	Queue   string `codec:"queue" required:"true" doc:"the queue"`
	WaitMS  int64  `codec:"wait_ms,omitempty" default:"0" min:"0" max:"60000" doc:"how many milliseconds the call may wait for an entry, within its deadline; first come, first served across all pods"`
	LeaseMS int64  `codec:"lease_ms,omitempty" default:"0" min:"0" max:"86400000" doc:"milliseconds within which the entry must be acknowledged, at least 100; 0 = no lease: it is removed from the queue at once"`
	Bind    string `codec:"bind,omitempty" default:"ttl" enum:"session,ttl" doc:"ttl = the lease lasts lease_ms unless it is renewed; session = the sidecar renews it while this connection is open, and returns the entry to the head when the connection closes"`
}

// QueueDequeueResult is an entry, or why there is none.
type QueueDequeueResult struct {
	Found        bool   `codec:"found" doc:"an entry was taken"`
	ID           string `codec:"id,omitempty" doc:"its id"`
	Body         []byte `codec:"body,omitempty" doc:"its body"`
	Lease        string `codec:"lease,omitempty" doc:"the lease, for queue.ack, queue.release and queue.renew"`
	Attempt      int64  `codec:"attempt,omitempty" doc:"how many times it has been taken, counting from 1"`
	EnqueuedAtMS int64  `codec:"enqueued_at_ms,omitempty" doc:"when it was added, by the Redis server's clock, Unix milliseconds"`
	Depth        int64  `codec:"depth" doc:"how many entries are left in the queue"`
	RetryAfterMS int64  `codec:"retry_after_ms" doc:"0 when found; else milliseconds until it is worth asking again: until a lease ends and its entry may return, at most 1000"`
	WaitedMS     int64  `codec:"waited_ms,omitempty" doc:"milliseconds that the call waited before Redis was asked for the result, rounded down"`
	Replayed     bool   `codec:"replayed,omitempty" doc:"the call repeats an earlier one with the same request id, and this is the entry of that one"`
	Reason       string `codec:"reason,omitempty" enum:"empty,busy,released,expired" doc:"why there is none: empty; busy = other calls wait for an entry; released or expired = how the lease of a repeated call ended"`
}

// QueueLeaseParams select a leased entry.
type QueueLeaseParams struct {
	Queue string `codec:"queue" required:"true" doc:"the queue"`
	Lease string `codec:"lease" required:"true" doc:"the lease that queue.dequeue returned"`
}

// QueueRenewParams select a leased entry and set its new time.
type QueueRenewParams struct {
	Queue   string `codec:"queue" required:"true" doc:"the queue"`
	Lease   string `codec:"lease" required:"true" doc:"the lease that queue.dequeue returned"`
	LeaseMS int64  `codec:"lease_ms" required:"true" min:"100" max:"86400000" doc:"milliseconds that the lease lasts from now on"`
}

// QueueAckResult reports the outcome.
type QueueAckResult struct {
	Acked  bool   `codec:"acked" doc:"the lease was in force, and the entry is removed"`
	Reason string `codec:"reason" enum:"acked,expired" doc:"the outcome; expired = the lease had ended: the entry returned to the head, or another consumer has it"`
}

// QueueReleaseResult reports the outcome.
type QueueReleaseResult struct {
	Released bool   `codec:"released" doc:"the entry is at the head of the queue again"`
	Reason   string `codec:"reason" enum:"released,expired" doc:"the outcome; expired = the lease had ended"`
}

// QueueRenewResult reports the outcome.
type QueueRenewResult struct {
	Renewed bool   `codec:"renewed" doc:"the entry is leased for another lease_ms"`
	LeaseMS int64  `codec:"lease_ms" doc:"the least milliseconds that the lease has left; 0 when it is not renewed"`
	Reason  string `codec:"reason" enum:"renewed,expired" doc:"the outcome; expired = the lease had ended"`
}

// QueueEntryParams select an entry.
type QueueEntryParams struct {
	Queue string `codec:"queue" required:"true" doc:"the queue"`
	ID    string `codec:"id" required:"true" doc:"the entry"`
}

// QueuePositionResult reports where an entry is.
type QueuePositionResult struct {
	State    string `codec:"state" enum:"waiting,leased,absent" doc:"waiting = it waits to be taken; leased; absent = it was taken, has expired or was never added"`
	Position int64  `codec:"position" doc:"its position, 1 = the first; entries that expired and are not yet removed count too; 0 unless it is waiting"`
	Depth    int64  `codec:"depth" doc:"how many entries are in the queue"`
}

// QueueCancelResult reports the outcome.
type QueueCancelResult struct {
	Cancelled bool   `codec:"cancelled" doc:"the entry was removed"`
	State     string `codec:"state" enum:"waiting,leased,absent" doc:"the state in which the call found it"`
}

// QueueParams select a queue.
type QueueParams struct {
	Queue string `codec:"queue" required:"true" doc:"the queue"`
}

// QueueStatsResult are the counts of one instant.
type QueueStatsResult struct {
	Depth    int64 `codec:"depth" doc:"entries that wait to be taken; entries that expired and are not yet removed count too"`
	Leased   int64 `codec:"leased" doc:"entries that are leased"`
	Waiting  int64 `codec:"waiting" doc:"calls that wait for an entry"`
	OldestMS int64 `codec:"oldest_ms" doc:"milliseconds since the first entry was added; 0 when there is none"`
}

// QueueListParams select one page of the list.
type QueueListParams struct {
	Cursor string `codec:"cursor,omitempty" doc:"the cursor that the previous page returned; absent = the first page"`
	Count  int64  `codec:"count,omitempty" default:"100" min:"1" max:"1000" doc:"about how many entries to list"`
	State  string `codec:"state,omitempty" enum:"entries,leased,empty" doc:"entries = only queues in which entries wait to be taken; leased = only queues with leased entries; empty = only queues in which no entry waits; absent = all"`
}

// QueueListResult is one page of the list.
type QueueListResult struct {
	Queues []QueueListed `codec:"queues" doc:"the entries of this page; a page may be empty without being the last"`
	Cursor string        `codec:"cursor,omitempty" doc:"the cursor of the next page; absent = this was the last page"`
}

// QueueListed is a queue in the list.
type QueueListed struct {
	Queue    string        `codec:"queue" doc:"the queue"`
	Depth    int64         `codec:"depth" doc:"entries that wait to be taken; entries that expired and are not yet removed count too"`
	Leased   int64         `codec:"leased" doc:"entries that are leased"`
	Waiting  int64         `codec:"waiting" doc:"calls that wait for an entry"`
	OldestMS int64         `codec:"oldest_ms" doc:"milliseconds since the first entry was added; 0 when there is none"`
	Holders  []QueueHolder `codec:"holders" doc:"leased entries and their holders, in the order in which their leases end, at most 3"`
}

// QueueHolder is a leased entry and the connection that holds it.
type QueueHolder struct {
	ID      string `codec:"id" doc:"the entry"`
	Attempt int64  `codec:"attempt" doc:"how many times it has been taken, counting from 1"`
	LeftMS  int64  `codec:"left_ms" doc:"milliseconds until the lease ends unless it is renewed, rounded up"`
	Session string `codec:"session" doc:"the connection that took it, as inspect.snapshot of its sidecar lists it"`
}

// The states that queue.list can select by.
const (
	QueueEntries = "entries"
	QueueLeased  = "leased"
	QueueEmpty   = "empty"
)
