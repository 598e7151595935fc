package lua

// QueueKeys are what a queue has; prelude_queue.lua says what they hold. All are under
// one tag.
type QueueKeys struct {
	Order, Entries, Bodies, Expiry, Leased, Holders string `lua:"key"`
}

// QueueTidied counts what a script found to have ended by time.
type QueueTidied struct {
	Returned int64 // entries whose lease had ended
	Expired  int64 // entries that nobody took in time
}

// QueueEnqueue puts an entry at the end of a queue, or says where the one of that
// id is.
var QueueEnqueue = Define[QueueEnqueueIn, QueueEnqueueOut](files, Source{Name: "queue_enqueue", Latched: true})

// QueueEnqueueIn is one entry.
type QueueEnqueueIn struct {
	Queue QueueKeys `lua:"table"`
	LineKeys
	ID    string
	TTLMS int64
	Body  string
	// Inboxes is what the names of the sidecars' channels begin with.
	Inboxes string
}

// QueueEnqueueOut says where the entry is.
type QueueEnqueueOut struct {
	Enqueued bool
	Position int64 // from 1; 0 = someone has it
	Depth    int64
	QueueTidied
}

// QueueDequeue takes the first entry. Repeated with the same lease it answers the
// same one. The latch does not keep its body: QueueReplay has it.
var QueueDequeue = Define[QueueDequeueIn, QueueDequeueOut](files, Source{
	Name:       "queue_dequeue",
	Idempotent: true,
	Latched:    true,
})

// QueueDequeueIn is one try to take an entry.
type QueueDequeueIn struct {
	Queue QueueKeys `lua:"table"`
	LineKeys
	// Taken keeps an entry that left the queue, so that it can be put back: a hash of
	// its id, entry as it was, body, and session of who was told.
	Taken   string `lua:"key"`
	Lease   string // without a space; by which it is acknowledged, or put back; of this call alone
	LeaseMS int64  // 0 = it leaves the queue
	Session string // of who is told, empty = none
	KeepMS  int64  // how long Taken lives
	Waiter  string // see LockAcquireIn
	BeatMS  int64
	Inboxes string
}

// QueueDequeueOut is an entry, or that there is none for the caller.
type QueueDequeueOut struct {
	Found   bool
	ID      string
	Attempt int64 // from 1
	CameMS  int64
	Depth   int64 // without it
	// LeaseEndsMS is until the first lease ends, rounded up; 0 when none is out or an entry was found.
	LeaseEndsMS int64
	// First: nobody alive is before the caller in the line.
	First bool
	// More: this run removed as many entries as one run may, and did not look behind
	// them: the caller should ask again at once.
	More bool
	QueueTidied
	Body string // empty when the stored reply is answered
}

// QueueLeaseState is what became of a lease.
type QueueLeaseState int64

// The states of a lease.
const (
	QueueLeaseGone  QueueLeaseState = 0 // it ended, or never was
	QueueLeaseHeld  QueueLeaseState = 1 // it was held, and what was asked is done
	QueueLeaseMoved QueueLeaseState = 2 // another session has it
	QueueLeaseEnded QueueLeaseState = 3 // the same was asked before
)

// QueueAck ends the lease of an entry that was dealt with.
var QueueAck = Define[QueueAckIn, QueueLeaseState](files, Source{
	Name:       "queue_ack",
	Returns:    []string{"state"},
	Idempotent: true,
})

// QueueAckIn is one lease.
type QueueAckIn struct {
	Queue QueueKeys `lua:"table"`
	Ended string    `lua:"key"`
	Lease string
}

// QueueRelease puts an entry back, gives up a place in the line, or both.
var QueueRelease = Define[QueueReleaseIn, QueueLeaseState](files, Source{
	Name:       "queue_release",
	Returns:    []string{"state"},
	Idempotent: true,
})

// QueueReleaseIn is one lease, one place in the line, or both.
type QueueReleaseIn struct {
	Queue QueueKeys `lua:"table"`
	Ended string    `lua:"key"`
	LineKeys
	Taken   string `lua:"key"` // see QueueDequeueIn
	Lease   string // empty = none
	Session string // whose it has to be; empty = whoever's
	Waiter  string // empty = none
	Inboxes string
}
