package ratelimit

import (
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// DoneScript releases the permit of a grant, removes a ticket from the waiting line, or both.
var DoneScript = lua.Define[DoneIn, PermitState](files, lua.Source{
	Name:       "ratelimit_done",
	Returns:    []string{"state"},
	Idempotent: true,
})

// PermitState is the state in which the script found the lease of a permit.
type PermitState int64

// The states of a lease.
const (
	PermitGone  PermitState = 0 // it has ended, or never existed
	PermitHeld  PermitState = 1 // the session of the input holds it
	PermitMoved PermitState = 2 // another session holds it
)

// DoneIn names one permit, one ticket of the waiting line, or both.
type DoneIn struct {
	Leases, Holders string `lua:"key"`
	lease.LineKeys
	ID      string // of the grant; empty = none
	Session string // which must hold the permit; empty = any
	Waiter  string // the waiter whose ticket is removed; empty = none
	Inboxes string // what the names of the sidecars' channels begin with
}

// RenewScript extends the permit of a grant. With Move, Session holds it afterwards,
// whichever session held it before.
var RenewScript = lua.Define[RenewIn, PermitState](files, lua.Source{
	Name:       "ratelimit_renew",
	Returns:    []string{"state"},
	Idempotent: true,
})

// RenewIn is one permit and how long it is valid from now on.
type RenewIn struct {
	Leases, Holders string `lua:"key"`
	ID, Session     string
	HoldMS          int64
	Move            bool
	// Client and Instance identify the holder that it moves to.
	Client, Instance string
}
