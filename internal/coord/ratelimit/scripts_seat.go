package ratelimit

import (
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// DoneScript frees the lease of a grant, and gives up a place in the line for one.
var DoneScript = lua.Define[DoneIn, SeatState](files, lua.Source{
	Name:       "ratelimit_done",
	Returns:    []string{"state"},
	Idempotent: true,
})

// SeatState is the state in which the script found the lease of a permit under max_concurrent.
type SeatState int64

// The states of a lease.
const (
	SeatGone  SeatState = 0 // it has ended, or never was
	SeatHeld  SeatState = 1 // by that session
	SeatMoved SeatState = 2 // another session holds it
)

// DoneIn is one lease, one place in the line, or both.
type DoneIn struct {
	Leases, Holders string `lua:"key"`
	lease.LineKeys
	ID      string // of the grant; empty = none
	Session string // whose it has to be; empty = whoever's
	Waiter  string // empty = none
	Inboxes string // what the names of the sidecars' channels begin with
}

// RenewScript extends the lease of a grant. With Move it is then Session's,
// whoever held it.
var RenewScript = lua.Define[RenewIn, SeatState](files, lua.Source{
	Name:       "ratelimit_renew",
	Returns:    []string{"state"},
	Idempotent: true,
})

// RenewIn is one lease and how long it lives from now on.
type RenewIn struct {
	Leases, Holders string `lua:"key"`
	ID, Session     string
	HoldMS          int64
	Move            bool
	// Client and Instance are of whom it moves to.
	Client, Instance string
}
