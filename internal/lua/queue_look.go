package lua

// QueueRenew extends the lease of an entry.
var QueueRenew = define[QueueRenewIn](Source{
	Name: "queue_renew", Keys: queueKeys(), Args: []string{"lease", "session", "lease_ms"}, Returns: []string{"state"}, Idempotent: true,
}, queueLeaseState)

// QueueRenewIn is one lease and how long it lives from now on.
type QueueRenewIn struct {
	QueueKeys
	Lease   string
	Session string // whose it has to be; empty = whoever's
	LeaseMS int64
}

func (in QueueRenewIn) args(to []any) []any { return append(to, in.Lease, in.Session, in.LeaseMS) }

// QueueReplay tells what became of what an earlier call took, and moves it to
// another session.
var QueueReplay = define[QueueReplayIn](Source{
	Name:       "queue_replay",
	Keys:       queueKeys("ended", "taken"),
	Args:       []string{"lease", "session", "lease_ms"},
	Returns:    []string{"state", "body"},
	Idempotent: true,
}, func(r *Reply) QueueReplayOut { return QueueReplayOut{State: queueLeaseState(r), Body: r.Str()} })

// QueueReplayIn is what the earlier call took, and whose it is from now on.
type QueueReplayIn struct {
	QueueKeys
	Ended, Taken   string // keys
	Lease, Session string
	LeaseMS        int64
}

func (in QueueReplayIn) keys(to []string) []string {
	return append(in.QueueKeys.keys(to), in.Ended, in.Taken)
}
func (in QueueReplayIn) args(to []any) []any { return append(to, in.Lease, in.Session, in.LeaseMS) }

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
var QueueCancel = define[QueueCancelIn](Source{
	Name: "queue_cancel", Keys: queueKeys(), Args: []string{"id"}, Returns: []string{"state", "returned", "expired"}, Idempotent: true,
}, func(r *Reply) QueueCancelOut {
	return QueueCancelOut{State: QueueEntryState(r.Int()), QueueTidied: QueueTidied{r.Int(), r.Int()}}
})

// QueueCancelIn is one entry.
type QueueCancelIn struct {
	QueueKeys
	ID string
}

func (in QueueCancelIn) args(to []any) []any { return append(to, in.ID) }

// QueueCancelOut says what it was.
type QueueCancelOut struct {
	State QueueEntryState
	QueueTidied
}

// QueueLook counts what a queue has, and finds one entry.
var QueueLook = define[QueueLookIn](Source{
	Name:       "queue_look",
	Keys:       queueKeys("line"),
	Args:       []string{"id"},
	Returns:    []string{"state", "position", "depth", "leased", "waiting", "oldest_ms", "returned", "expired"},
	Idempotent: true,
}, func(r *Reply) QueueLookOut {
	return QueueLookOut{
		State: QueueEntryState(r.Int()), Position: r.Int(), Depth: r.Int(), Leased: r.Int(), Waiting: r.Int(), OldestMS: r.Int(),
		QueueTidied: QueueTidied{r.Int(), r.Int()},
	}
})

// QueueLookIn is a queue and, unless it is empty, an entry.
type QueueLookIn struct {
	QueueKeys
	Line string // key
	ID   string
}

func (in QueueLookIn) keys(to []string) []string { return append(in.QueueKeys.keys(to), in.Line) }
func (in QueueLookIn) args(to []any) []any       { return append(to, in.ID) }

// QueueLookOut is what was counted.
type QueueLookOut struct {
	State    QueueEntryState
	Position int64 // 0 unless it waits
	Depth    int64
	Leased   int64
	Waiting  int64 // calls in the line, those of dead sidecars too until they come first
	OldestMS int64
	QueueTidied
}
