package lua

// QueueKeys are what a queue has. All are under one tag.
type QueueKeys struct{ Order, Entries, Bodies, Expiry, Leased, Holders string }

// queueKeys are their names in descriptors, before those that a script adds.
func queueKeys(more ...string) []string {
	return append([]string{"order", "entries", "bodies", "expiry", "leased", "holders"}, more...)
}

func (k QueueKeys) keys(to []string) []string {
	return append(to, k.Order, k.Entries, k.Bodies, k.Expiry, k.Leased, k.Holders)
}

// QueueTidied counts what a script found to have ended by itself.
type QueueTidied struct {
	Returned int64 // entries whose lease had ended
	Expired  int64 // entries that nobody took in time
}

// QueueEnqueue puts an entry at the end of a queue, or says where the one of that
// id is.
var QueueEnqueue = define[QueueEnqueueIn](Source{
	Name:    "queue_enqueue",
	Keys:    queueKeys("line", "beats"),
	Args:    []string{"id", "ttl_ms", "body", "inboxes"},
	Returns: []string{"enqueued", "position", "depth", "returned", "expired"},
	Latched: true,
}, func(r *Reply) QueueEnqueueOut {
	return QueueEnqueueOut{
		Enqueued: r.Bool(), Position: r.Int(), Depth: r.Int(), QueueTidied: QueueTidied{r.Int(), r.Int()},
	}
})

// QueueEnqueueIn is one entry.
type QueueEnqueueIn struct {
	QueueKeys
	LineKeys
	ID    string
	TTLMS int64
	Body  string
	// Inboxes is what the names of the sidecars' channels begin with.
	Inboxes string
}

func (in QueueEnqueueIn) keys(to []string) []string {
	return append(in.QueueKeys.keys(to), in.Line, in.Beats)
}

func (in QueueEnqueueIn) args(to []any) []any {
	return append(to, in.ID, in.TTLMS, in.Body, in.Inboxes)
}

// QueueEnqueueOut says where the entry is.
type QueueEnqueueOut struct {
	Enqueued bool
	Position int64 // 0 = someone has it
	Depth    int64
	QueueTidied
}

// QueueDequeue takes the first entry. Repeated with the same lease it answers the
// same one. The latch does not keep its body: QueueReplay has it.
var QueueDequeue = define[QueueDequeueIn](Source{
	Name: "queue_dequeue",
	Keys: queueKeys("line", "beats", "taken"),
	Args: []string{"lease", "lease_ms", "session", "keep_ms", "waiter", "beat_ms", "inboxes"},
	Returns: []string{
		"found", "id", "attempt", "came_ms", "depth", "lease_ends_ms", "first", "more", "returned", "expired", "body",
	},
	Idempotent: true,
	Latched:    true,
}, func(r *Reply) QueueDequeueOut {
	return QueueDequeueOut{
		Found: r.Bool(), ID: r.Str(), Attempt: r.Int(), CameMS: r.Int(), Depth: r.Int(), LeaseEndsMS: r.Int(),
		First: r.Bool(), More: r.Bool(), QueueTidied: QueueTidied{r.Int(), r.Int()}, Body: r.Str(),
	}
})

// QueueDequeueIn is one try to take an entry.
type QueueDequeueIn struct {
	QueueKeys
	LineKeys
	// Taken is the key where an entry that leaves the queue can be put back from.
	Taken   string
	Lease   string // by which it is acknowledged, or put back; of this call alone
	LeaseMS int64  // 0 = it leaves the queue
	Session string // of who is told, empty = none
	KeepMS  int64  // how long Taken lives
	Waiter  string // see LockAcquireIn
	BeatMS  int64
	Inboxes string
}

func (in QueueDequeueIn) keys(to []string) []string {
	return append(in.QueueKeys.keys(to), in.Line, in.Beats, in.Taken)
}

func (in QueueDequeueIn) args(to []any) []any {
	return append(to, in.Lease, in.LeaseMS, in.Session, in.KeepMS, in.Waiter, in.BeatMS, in.Inboxes)
}

// QueueDequeueOut is an entry, or that there is none for the caller.
type QueueDequeueOut struct {
	Found   bool
	ID      string
	Attempt int64
	CameMS  int64
	Depth   int64
	// LeaseEndsMS is until the first lease ends, 0 when none is out or one was found.
	LeaseEndsMS int64
	// First: nobody alive is before the caller in the line.
	First bool
	// More: as many as one run may have been removed, and what is behind them is
	// not known.
	More bool
	QueueTidied
	Body string
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

func queueLeaseState(r *Reply) QueueLeaseState { return QueueLeaseState(r.Int()) }

// QueueAck ends the lease of an entry that was dealt with.
var QueueAck = define[QueueAckIn](Source{
	Name: "queue_ack", Keys: queueKeys("ended"), Args: []string{"lease"}, Returns: []string{"state"}, Idempotent: true,
}, queueLeaseState)

// QueueAckIn is one lease.
type QueueAckIn struct {
	QueueKeys
	Ended string // key
	Lease string
}

func (in QueueAckIn) keys(to []string) []string { return append(in.QueueKeys.keys(to), in.Ended) }
func (in QueueAckIn) args(to []any) []any       { return append(to, in.Lease) }

// QueueRelease puts an entry back, gives up a place in the line, or both.
var QueueRelease = define[QueueReleaseIn](Source{
	Name:       "queue_release",
	Keys:       queueKeys("ended", "line", "beats", "taken"),
	Args:       []string{"lease", "session", "waiter", "inboxes"},
	Returns:    []string{"state"},
	Idempotent: true,
}, queueLeaseState)

// QueueReleaseIn is one lease, one place in the line, or both.
type QueueReleaseIn struct {
	QueueKeys
	LineKeys
	Ended, Taken string // keys
	Lease        string // empty = none
	Session      string // whose it has to be; empty = whoever's
	Waiter       string // empty = none
	Inboxes      string
}

func (in QueueReleaseIn) keys(to []string) []string {
	return append(in.QueueKeys.keys(to), in.Ended, in.Line, in.Beats, in.Taken)
}

func (in QueueReleaseIn) args(to []any) []any {
	return append(to, in.Lease, in.Session, in.Waiter, in.Inboxes)
}
