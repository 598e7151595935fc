package ratelimit

import "github.com/coxswain-sidecar/coxswain/internal/lua"

// GateScript tells all that is known of a gate (part_gate.lua): the pause, the
// delays and the penalty of a key, whatever its algorithm is, and its leases.
var GateScript = lua.Define[GateIn, GateOut](files, lua.Source{Name: "ratelimit_gate", Idempotent: true})

// GateIn names one gate and what is beside it; of the leases at most Most
// are told.
type GateIn struct {
	Gate, Leases, Holders, Line string `lua:"key"`
	Most                        int64
}

// GateOut is what the gate is now. Instants are 0 where there is nothing.
type GateOut struct {
	NowUS, PauseUS int64
	Why            string // of the pause
	// PenaltyUS is when the last pause for an answer of the remote server ends or
	// ended, Level how many such pauses there were in a row.
	PenaltyUS, Level int64
	NextUS           int64 // when a delay lets the next go
	Held             int64 // leases
	Waiting          int64 // places in the line, those of dead sidecars too
	// Items are the delays, the slowest, which counts, first; then the leases, the first to
	// end first.
	Items []GateItem
}

// GateItem is a delay or a lease.
type GateItem struct {
	Kind string // delay or lease
	Name string // a delay's source, or a lease's client
	// Instance is that of a lease.
	Instance string
	// US is how long the delay is, or since when the lease is held; EndsUS is when it ends.
	US, EndsUS int64
}

// Delay is the delay that one source asks for.
type Delay struct {
	Source          string
	DelayUS, EndsUS int64
}

// Lease is one grant of a limit with max_concurrent.
type Lease struct {
	Client, Instance string
	SinceUS, EndsUS  int64
}

// Delays are those in Items.
func (o GateOut) Delays() (all []Delay) {
	for _, i := range o.Items {
		if i.Kind == "delay" {
			all = append(all, Delay{Source: i.Name, DelayUS: i.US, EndsUS: i.EndsUS})
		}
	}
	return all
}

// Leases are those in Items.
func (o GateOut) Leases() (all []Lease) {
	for _, i := range o.Items {
		if i.Kind == "lease" {
			all = append(all, Lease{Client: i.Name, Instance: i.Instance, SinceUS: i.US, EndsUS: i.EndsUS})
		}
	}
	return all
}
