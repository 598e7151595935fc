package queue

import (
	"embed"

	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

//go:embed *.lua
var files embed.FS

// Keys are the keys of a queue; part_queue.lua describes them. All have one hash tag.
type Keys struct {
	Order, Entries, Bodies, Expiry, Leased, Holders string `lua:"key"`
}

// Tidied counts what a script found to have ended by time.
type Tidied struct {
	Returned int64 // entries whose lease had ended
	Expired  int64 // entries that nobody took in time
}

// EnqueueScript puts an entry at the end of a queue, or returns the position of the one that has its id.
var EnqueueScript = lua.Define[EnqueueIn, EnqueueOut](files, lua.Source{Name: "queue_enqueue", StoresReply: true})

// EnqueueIn is one entry.
type EnqueueIn struct {
	Queue Keys `lua:"table"`
	lease.LineKeys
	ID    string
	TTLMS int64
	Body  string
	// Inboxes is what the names of the sidecars' channels begin with.
	Inboxes string
}

// EnqueueOut has the position of the entry and the depth of its queue.
type EnqueueOut struct {
	Enqueued bool
	Position int64 // from 1; 0 = it is leased
	Depth    int64
	Tidied
}

// DequeueScript takes the first entry. Repeated with the same lease, it returns the same entry. The stored reply has
// no body: ReplayScript returns the body.
var DequeueScript = lua.Define[DequeueIn, DequeueOut](files, lua.Source{
	Name:        "queue_dequeue",
	Idempotent:  true,
	StoresReply: true,
})

// DequeueIn is one try to take an entry.
type DequeueIn struct {
	Queue Keys `lua:"table"`
	lease.LineKeys
	// Taken keeps an entry that left the queue, so that it can be put back: a hash of its id, its text before it was
	// taken, its body, and the session of the caller that took it.
	Taken       string `lua:"key"`
	Lease       string // without a space; the token by which the entry is acknowledged or put back; of this call alone
	LeaseMS     int64  // 0 = it leaves the queue
	Session     string // of the caller, empty = none
	KeepMS      int64  // the TTL of Taken
	Waiter      string // as in lock.AcquireIn
	HeartbeatMS int64
	Inboxes     string
}

// DequeueOut is an entry, or reports that there is none for the caller.
type DequeueOut struct {
	Found   bool
	ID      string
	Attempt int64 // from 1
	CameMS  int64
	Depth   int64 // without it
	// LeaseEndsMS is the time until the first lease ends, rounded up; 0 if there is no lease or an entry was found.
	LeaseEndsMS int64
	// First: no waiter of a live sidecar is ahead of the caller in the waiting line.
	First bool
	// More: this run ended as many leases and entries as one run may, and did not look at those behind them. The
	// caller should ask again at once.
	More bool
	Tidied
	Body string // empty in a stored reply
}

// LeaseState is the state in which the script found a lease.
type LeaseState int64

// The states of a lease.
const (
	LeaseGone  LeaseState = 0 // it has ended, or never existed
	LeaseHeld  LeaseState = 1 // it was held, and the script did what was asked
	LeaseMoved LeaseState = 2 // another session holds it
	LeaseEnded LeaseState = 3 // the same was asked before
)

// AckScript acknowledges an entry by its lease.
var AckScript = lua.Define[AckIn, LeaseState](files, lua.Source{
	Name:       "queue_ack",
	Returns:    []string{"state"},
	Idempotent: true,
})

// AckIn is one lease.
type AckIn struct {
	Queue Keys   `lua:"table"`
	Ended string `lua:"key"`
	Lease string
}

// ReleaseScript puts an entry back, removes a waiter from the waiting line, or both.
var ReleaseScript = lua.Define[ReleaseIn, LeaseState](files, lua.Source{
	Name:       "queue_release",
	Returns:    []string{"state"},
	Idempotent: true,
})

// ReleaseIn is one lease, one waiter in the waiting line, or both.
type ReleaseIn struct {
	Queue Keys   `lua:"table"`
	Ended string `lua:"key"`
	lease.LineKeys
	Taken   string `lua:"key"` // see DequeueIn
	Lease   string // empty = none
	Session string // the session that must hold it; empty = any
	Waiter  string // empty = none
	Inboxes string
}
