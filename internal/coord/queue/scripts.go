package queue

import (
	"embed"

	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

//go:embed *.lua
var files embed.FS

// Keys are what a queue has; part_queue.lua says what they hold. All are under
// one tag.
type Keys struct {
	Order, Entries, Bodies, Expiry, Leased, Holders string `lua:"key"`
}

// Tidied counts what a script found to have ended by time.
type Tidied struct {
	Returned int64 // entries whose lease had ended
	Expired  int64 // entries that nobody took in time
}

// EnqueueScript puts an entry at the end of a queue, or says where the one of that
// id is.
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
	Position int64 // from 1; 0 = someone has it
	Depth    int64
	Tidied
}

// DequeueScript takes the first entry. Repeated with the same lease it answers the
// same one. The stored reply does not keep its body: QueueReplay has it.
var DequeueScript = lua.Define[DequeueIn, DequeueOut](files, lua.Source{
	Name:        "queue_dequeue",
	Idempotent:  true,
	StoresReply: true,
})

// DequeueIn is one try to take an entry.
type DequeueIn struct {
	Queue Keys `lua:"table"`
	lease.LineKeys
	// Taken keeps an entry that left the queue, so that it can be put back: a hash of
	// its id, entry as it was, body, and session of who was told.
	Taken       string `lua:"key"`
	Lease       string // without a space; by which it is acknowledged, or put back; of this call alone
	LeaseMS     int64  // 0 = it leaves the queue
	Session     string // of who is told, empty = none
	KeepMS      int64  // how long Taken lives
	Waiter      string // as in lock.AcquireIn
	HeartbeatMS int64
	Inboxes     string
}

// DequeueOut is an entry, or that there is none for the caller.
type DequeueOut struct {
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
	Tidied
	Body string // empty when the stored reply is answered
}

// LeaseState is the state in which the script found a lease.
type LeaseState int64

// The states of a lease.
const (
	LeaseGone  LeaseState = 0 // it ended, or never was
	LeaseHeld  LeaseState = 1 // it was held, and what was asked is done
	LeaseMoved LeaseState = 2 // another session has it
	LeaseEnded LeaseState = 3 // the same was asked before
)

// AckScript ends the lease of an entry that was dealt with.
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

// ReleaseScript puts an entry back, gives up a place in the line, or both.
var ReleaseScript = lua.Define[ReleaseIn, LeaseState](files, lua.Source{
	Name:       "queue_release",
	Returns:    []string{"state"},
	Idempotent: true,
})

// ReleaseIn is one lease, one place in the line, or both.
type ReleaseIn struct {
	Queue Keys   `lua:"table"`
	Ended string `lua:"key"`
	lease.LineKeys
	Taken   string `lua:"key"` // see DequeueIn
	Lease   string // empty = none
	Session string // whose it has to be; empty = whoever's
	Waiter  string // empty = none
	Inboxes string
}
