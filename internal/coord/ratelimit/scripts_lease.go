package ratelimit

import (
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// The scripts of rules in mode leased. Neither knows a request id: what a sidecar serves
// from memory leaves no reply that a repeated call could find.

// leases is the script by which an algorithm is charged ahead.
func leases(script string) *lua.Script[LeaseIn, LeaseOut] {
	s := lua.Define[LeaseIn, LeaseOut](files, lua.Source{Name: script})
	return &s
}

// LeaseIn is one charge ahead.
type LeaseIn struct {
	State, Pace string `lua:"key"`
	Block       `lua:"table"`
}

// Block is what a call costs, what may be charged beside it, and what is unused of an
// earlier block.
type Block struct {
	Cost int64
	// Most is how much may be charged, Cost included.
	Most int64
	// Revision and Signature are as of Charge.
	Revision  int64
	Signature string
	// Unused is what is given back of a block that was charged at AtUS, by the Redis
	// server's clock; 0 = there is none.
	Unused, AtUS int64
}

// LeaseOut is the answer to the call, and what was charged.
type LeaseOut struct {
	coord.LimitAnswer
	Taken    int64 // the cost of the call included; 0 when it is refused
	Returned bool  // some of Unused was credited
	// EndsUS is how long the block may be served from NowUS on, whatever the lease is; 0 =
	// the algorithm sets no end.
	EndsUS int64
}

// ReturnScript takes back what is unused of a block, and reports whether any of it was
// credited. A second run would credit what was charged by others in between.
var ReturnScript = lua.Define[ReturnIn, bool](files, lua.Source{
	Name:    "ratelimit_return",
	Returns: []string{"returned"},
})

// ReturnIn is one block.
type ReturnIn struct {
	State string `lua:"key"`
	// Algorithm is the state's, by its name on the wire; Unused and AtUS are Block's.
	Algorithm    string
	Unused, AtUS int64
}
