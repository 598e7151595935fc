package queue

import "github.com/coxswain-sidecar/coxswain/internal/lua"

// RenewScript extends the lease of an entry.
var RenewScript = lua.Define[RenewIn, LeaseState](files, lua.Source{
	Name:       "queue_renew",
	Returns:    []string{"state"},
	Idempotent: true,
})

// RenewIn is one lease and the time that it has left from now on. A renewal for a Session never shortens it; the
// holder's own call, with an empty Session, may.
type RenewIn struct {
	Queue   Keys `lua:"table"`
	Lease   string
	Session string // the session that must hold it; empty = any
	LeaseMS int64
}

// ReplayScript returns what became of the entry that an earlier call took, and moves it to another session.
var ReplayScript = lua.Define[ReplayIn, ReplayOut](files, lua.Source{Name: "queue_replay", Idempotent: true})

// ReplayIn names the entry that the earlier call took, and the session that holds it from now on.
type ReplayIn struct {
	Queue   Keys   `lua:"table"`
	Ended   string `lua:"key"`
	Taken   string `lua:"key"` // see DequeueIn
	Lease   string
	Session string // empty = none
	LeaseMS int64  // from now; it never shortens what is left
}

// ReplayOut is the entry that the earlier call took. Body is empty unless its lease is still held.
type ReplayOut struct {
	State LeaseState
	Body  string
}

// EntryState is the state in which the script found an entry.
type EntryState int64

// The states of an entry.
const (
	Absent  EntryState = 0
	Waiting EntryState = 1
	Leased  EntryState = 2
)

// CancelScript removes an entry from the queue, unless it is leased.
var CancelScript = lua.Define[CancelIn, CancelOut](files, lua.Source{Name: "queue_cancel", Idempotent: true})

// CancelIn is one entry.
type CancelIn struct {
	Queue Keys `lua:"table"`
	ID    string
}

// CancelOut is the state in which the entry was.
type CancelOut struct {
	State EntryState
	Tidied
}

// LookScript counts the entries, leases and waiters of a queue, and finds one entry.
var LookScript = lua.Define[LookIn, LookOut](files, lua.Source{Name: "queue_look", Idempotent: true})

// LookIn is a queue and, unless ID is empty, one of its entries.
type LookIn struct {
	Queue Keys   `lua:"table"`
	Line  string `lua:"key"`
	ID    string
	Most  int64 // the most holders that are returned
}

// LookOut has the counts of a queue.
type LookOut struct {
	State    EntryState
	Position int64 // 0 unless it waits
	Depth    int64
	Leased   int64
	Waiting  int64 // calls in the waiting line; those of dead sidecars count until they come first
	OldestMS int64 // since the first entry came, rounded down
	Tidied
	Holders []Holder // by when their leases end
}

// Holder is the lease of one entry.
type Holder struct {
	ID      string
	Tries   int64
	LeftUS  int64
	Session string // empty = it is bound to none
}
