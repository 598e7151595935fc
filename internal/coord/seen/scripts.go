package seen

import (
	"embed"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

//go:embed *.lua
var files embed.FS

// ReserveScript reserves a key of a set, or returns that it is reserved or done.
// Repeated with the same token it returns the same.
var ReserveScript = lua.Define[ReserveIn, ReserveOut](files, lua.Source{
	Name:        "seen_reserve",
	Idempotent:  true,
	StoresReply: true,
})

// ReserveIn is one try to reserve a key.
type ReserveIn struct {
	Seen    string `lua:"key"`
	Token   string // unique to this reservation
	TTLMS   int64
	Session string // empty = it is bound to its TTL
}

// Was is the state of a key before a reservation.
type Was int64

// The states of a key before a reservation.
const (
	WasNew      Was = 0
	WasReserved Was = 1
	WasDone     Was = 2
)

// ReserveOut is a reservation, or why there is none.
type ReserveOut struct {
	Reserved bool
	Was      Was
	// LeftMS is the time until the reservation ends, rounded down; if it was not made, the time
	// until the key may be reserved, rounded up.
	LeftMS int64
}

// State is the state in which the script found a reservation.
type State int64

// The states of a reservation.
const (
	StateGone      State = 0 // it ended, or never was
	StateHeld      State = 1 // it was held, and the script did what was asked
	StateMoved     State = 2 // another session holds it
	StateReleased  State = 3 // it was released before
	StateCommitted State = 4 // it was committed before
)

// RenewScript extends a reservation. With Move, Session then holds it, whichever session held it before.
var RenewScript = lua.Define[RenewIn, State](files, lua.Source{
	Name:       "seen_renew",
	Returns:    []string{"state"},
	Idempotent: true,
})

// RenewIn is one reservation and its new TTL.
type RenewIn struct {
	Seen           string `lua:"key"`
	Token, Session string // an empty Session is any, or, with Move, none
	TTLMS          int64  // from now; it never shortens the reservation
	Move           bool
}

// CommitScript marks a reserved key as done.
var CommitScript = lua.Define[CommitIn, State](files, lua.Source{
	Name:       "seen_commit",
	Returns:    []string{"state"},
	Idempotent: true,
})

// CommitIn is one reservation, and how long its key stays marked as done.
type CommitIn struct {
	Seen   string `lua:"key"`
	Token  string
	KeepMS int64
}

// ReleaseScript ends a reservation without a commit.
var ReleaseScript = lua.Define[ReleaseIn, State](files, lua.Source{
	Name:       "seen_release",
	Returns:    []string{"state"},
	Idempotent: true,
})

// ReleaseIn is one reservation.
type ReleaseIn struct {
	Seen    string `lua:"key"`
	Token   string
	Session string // the session that must hold it; empty = any
}
