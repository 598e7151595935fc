package ratelimit

import (
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// The scripts of rules in mode leased. They store no reply under a request id: a call that a
// sidecar serves from memory leaves none in Redis either.

// leases defines the script that charges a block of an algorithm.
func leases(script string) *lua.Script[LeaseIn, LeaseOut] {
	s := lua.Define[LeaseIn, LeaseOut](files, lua.Source{Name: script})
	return &s
}

// LeaseIn is one charge of a block.
type LeaseIn struct {
	State, Pace string `lua:"key"`
	Block       `lua:"table"`
}

// Block is the cost of a call, what may be charged beside it, and what is unused of an
// earlier block.
type Block struct {
	Cost int64
	// Most is how much may be charged, Cost included.
	Most int64
	// Revision and Signature are those of Charge.
	Revision  int64
	Signature string
	// Unused is how many tokens are given back of a block that was charged at AtUS, by the
	// Redis server's clock; 0 = none.
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

// ReturnScript takes back the unused tokens of a block, and reports whether any were
// credited. It is not idempotent: a second run would credit tokens that other calls charged
// in between.
var ReturnScript = lua.Define[ReturnIn, bool](files, lua.Source{
	Name:    "ratelimit_return",
	Returns: []string{"returned"},
})

// ReturnIn is the unused part of one block.
type ReturnIn struct {
	State string `lua:"key"`
	// Algorithm is the state's, by its name on the wire; Unused and AtUS are Block's.
	Algorithm    string
	Unused, AtUS int64
}
