package lua

// QueueRenew extends the lease of an entry.
var QueueRenew = Define[QueueRenewIn, QueueLeaseState](files, Source{
	Name:       "queue_renew",
	Returns:    []string{"state"},
	Idempotent: true,
})

// QueueRenewIn is one lease and how long it lives from now on. A Session never shortens
// it; the holder's own call, with an empty one, may.
type QueueRenewIn struct {
	Queue   QueueKeys `lua:"table"`
	Lease   string
	Session string // whose it has to be; empty = whoever's
	LeaseMS int64
}

// QueueReplay tells what became of what an earlier call took, and moves it to
// another session.
var QueueReplay = Define[QueueReplayIn, QueueReplayOut](files, Source{Name: "queue_replay", Idempotent: true})

// QueueReplayIn is what the earlier call took, and whose it is from now on.
type QueueReplayIn struct {
	Queue   QueueKeys `lua:"table"`
	Ended   string    `lua:"key"`
	Taken   string    `lua:"key"` // see QueueDequeueIn
	Lease   string
	Session string // empty = none
	LeaseMS int64  // from now; it never shortens what is left
}

// QueueReplayOut is what was found. Body is empty unless it is held.
type QueueReplayOut struct {
	State QueueLeaseState
	Body  string
}

// QueueEntryState is what an entry was found to be.
type QueueEntryState int64

// The states of an entry.
const (
	QueueAbsent  QueueEntryState = 0
	QueueWaiting QueueEntryState = 1
	QueueLeased  QueueEntryState = 2
)

// QueueCancel takes an entry out of the queue, unless someone has it.
var QueueCancel = Define[QueueCancelIn, QueueCancelOut](files, Source{Name: "queue_cancel", Idempotent: true})

// QueueCancelIn is one entry.
type QueueCancelIn struct {
	Queue QueueKeys `lua:"table"`
	ID    string
}

// QueueCancelOut says what it was.
type QueueCancelOut struct {
	State QueueEntryState
	QueueTidied
}

// QueueLook counts what a queue has, and finds one entry.
var QueueLook = Define[QueueLookIn, QueueLookOut](files, Source{Name: "queue_look", Idempotent: true})

// QueueLookIn is a queue and, unless it is empty, an entry.
type QueueLookIn struct {
	Queue QueueKeys `lua:"table"`
	Line  string    `lua:"key"`
	ID    string
}

// QueueLookOut is what was counted.
type QueueLookOut struct {
	State    QueueEntryState
	Position int64 // 0 unless it waits
	Depth    int64
	Leased   int64
	Waiting  int64 // calls in the line, those of dead sidecars too until they come first
	OldestMS int64 // since the first one came, rounded down
	QueueTidied
}
