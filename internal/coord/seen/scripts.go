package seen

import (
	"embed"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

//go:embed *.lua
var files embed.FS

// ReserveScript reserves a key of a set, or says that it is reserved or done.
// Repeated with the same token it answers the same.
var ReserveScript = lua.Define[ReserveIn, ReserveOut](files, lua.Source{
	Name:        "seen_reserve",
	Idempotent:  true,
	StoresReply: true,
})

// ReserveIn is one try to reserve a key.
type ReserveIn struct {
	Seen    string `lua:"key"`
	Token   string // of this reservation alone
	TTLMS   int64
	Session string // empty = it is bound to its TTL
}

// Was is the state of a key when a caller wanted to reserve it.
type Was int64

// What a key may have been.
const (
	WasNew      Was = 0
	WasReserved Was = 1
	WasDone     Was = 2
)

// ReserveOut is a reservation, or what is in the way.
type ReserveOut struct {
	Reserved bool
	Was      Was
	// LeftMS is what the reservation has left, rounded down; when it was not made,
	// until the key may be reserved, rounded up.
	LeftMS int64
}

// State is the state in which the script found a reservation.
type State int64

// The states of a reservation.
const (
	StateGone      State = 0 // it ended, or never was
	StateHeld      State = 1 // it was held, and what was asked is done
	StateMoved     State = 2 // another session holds it
	StateReleased  State = 3 // it was given up before
	StateCommitted State = 4 // it was committed before
)

// RenewScript extends a reservation. With Move it is then Session's, whoever held it.
var RenewScript = lua.Define[RenewIn, State](files, lua.Source{
	Name:       "seen_renew",
	Returns:    []string{"state"},
	Idempotent: true,
})

// RenewIn is one reservation and how long it lives from now on.
type RenewIn struct {
	Seen           string `lua:"key"`
	Token, Session string // an empty Session is any, or, with Move, none
	TTLMS          int64  // from now; it never shortens what is left
	Move           bool
}

// CommitScript remembers what was reserved as done.
var CommitScript = lua.Define[CommitIn, State](files, lua.Source{
	Name:       "seen_commit",
	Returns:    []string{"state"},
	Idempotent: true,
})

// CommitIn is one reservation, and how long it is remembered.
type CommitIn struct {
	Seen   string `lua:"key"`
	Token  string
	KeepMS int64
}

// ReleaseScript gives a reservation up.
var ReleaseScript = lua.Define[ReleaseIn, State](files, lua.Source{
	Name:       "seen_release",
	Returns:    []string{"state"},
	Idempotent: true,
})

// ReleaseIn is one reservation.
type ReleaseIn struct {
	Seen    string `lua:"key"`
	Token   string
	Session string // whose it has to be; empty = whoever's
}
