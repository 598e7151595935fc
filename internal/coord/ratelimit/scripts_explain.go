package ratelimit

import "github.com/coxswain-sidecar/coxswain/internal/lua"

// PaceScript returns the pace of a key (part_pace.lua): its pause, its delays and its
// penalty. It also returns the leases of its permits.
var PaceScript = lua.Define[PaceIn, PaceOut](files, lua.Source{Name: "ratelimit_pace", Idempotent: true})

// PaceIn names one pace and the keys of its permits. At most Most leases are returned.
type PaceIn struct {
	Pace, Leases, Holders, Line string `lua:"key"`
	Most                        int64
}

// PaceOut is the pace now. An instant is 0 where there is nothing.
type PaceOut struct {
	NowUS, PauseUS int64
	Why            string // of the pause
	// PenaltyUS is when the last pause for an answer of the remote server ends or
	// ended, Level how many such pauses there were in a row.
	PenaltyUS, Level int64
	NextUS           int64 // when the delay admits the next call
	Held             int64 // permits that are held
	Waiting          int64 // calls in the waiting line, those of dead sidecars included
	// Items are the delays, the slowest (which is in force) first, and then the leases, the
	// first to end first.
	Items []PaceItem
}

// PaceItem is a delay or a lease.
type PaceItem struct {
	Kind string // delay or lease
	Name string // a delay's source, or a lease's client
	// Instance is the instance of a lease's holder.
	Instance string
	// US is how long the delay is, or since when the lease is held; EndsUS is when it ends.
	US, EndsUS int64
}

// Delay is the delay that one source asks for.
type Delay struct {
	Source          string
	DelayUS, EndsUS int64
}

// Lease is one permit of a limit with max_concurrent.
type Lease struct {
	Client, Instance string
	SinceUS, EndsUS  int64
}

// Delays returns the delays in Items.
func (o PaceOut) Delays() (all []Delay) {
	for _, i := range o.Items {
		if i.Kind == "delay" {
			all = append(all, Delay{Source: i.Name, DelayUS: i.US, EndsUS: i.EndsUS})
		}
	}
	return all
}

// Leases returns the leases in Items.
func (o PaceOut) Leases() (all []Lease) {
	for _, i := range o.Items {
		if i.Kind == "lease" {
			all = append(all, Lease{Client: i.Name, Instance: i.Instance, SinceUS: i.US, EndsUS: i.EndsUS})
		}
	}
	return all
}
