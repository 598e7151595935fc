package ratelimit

import (
	"embed"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

//go:embed *.lua
var files embed.FS

// Band is one band, reduced: L tokens per P microseconds with gcd(L, P) = 1, at
// most Capacity at once. L = 0 admits nothing, whatever Capacity is.
// PeriodMS identifies the band across reloads, and is the window of algorithms
// that have one; scripts read it from the signature.
type Band struct {
	Capacity, L, P, PeriodMS int64
}

// TokenBucketScript charges a token bucket of one band without max_concurrent. It is the lean
// form of the general script, on the same state. Each of the two reads the replies that the
// other stored under a request id.
var TokenBucketScript = lua.Define[TokenBucketIn, coord.LimitAnswer](files, lua.Source{
	Name:        "ratelimit_token_bucket",
	StoresReply: true,
})

// TokenBucketIn is one charge of one band; its fields are those of Charge and Band.
type TokenBucketIn struct {
	State, Pace string `lua:"key"`
	Cost        int64
	Peek        bool
	WaitUS      int64
	Revision    int64
	Signature   string
	// Capacity, L and P are those of the band in Signature.
	Capacity, L, P int64
}

// In is one charge of 1 to 4 bands.
type In struct {
	// State is the key of the algorithm's state; Pace is that of the pause, the delays and the
	// penalty, whatever the algorithm is.
	State, Pace string `lua:"key"`
	Charge      `lua:"table"`
	Permit      `lua:"table"`
}

// Charge is a cost and the limit that it is charged to; Cost 0 only looks.
type Charge struct {
	Cost int64
	Peek Peek
	// WaitUS is how far away a slot may be that is promised and charged now if the cost does
	// not fit yet; 0 = no slot is promised.
	WaitUS int64
	// Revision orders the versions of a rule; a call with an older version than the state's
	// is decided by the bands of the state.
	Revision int64
	// Signature is the canonical text of all bands, Capacity/L/P/PeriodMS joined
	// by ";" and sorted by period; equal text = equal parameters.
	Signature string
	// ID identifies the charge; it is unique under this key.
	ID string
}

// Peek is whether a charge takes its cost.
type Peek int64

// The values of Peek.
const (
	PeekOff  Peek = 0 // it takes the cost
	PeekOn   Peek = 1 // it returns what taking the cost would return, and takes nothing
	PeekEach Peek = 2 // as PeekOn, and it returns the state of every band
)

// Permit is the lease that a limit with max_concurrent gives out with each charge.
// The zero Permit asks for none; the keys are needed only with MaxConcurrent.
type Permit struct {
	Leases     string `lua:"key,optional"`
	Holders    string `lua:"key,optional"`
	Line       string `lua:"key,optional"`
	Heartbeats string `lua:"key,optional"`
	// MaxConcurrent is how many permits may be held at once; 0 = any number.
	MaxConcurrent int64
	// HoldMS is how long the permit is valid from the slot on, unless it is renewed.
	HoldMS                    int64
	Session, Client, Instance string // the holder; with an empty Session only the TTL ends the permit
	// Waiter is the call's name in the waiting line; empty = it does not wait. Its ticket
	// is kept for HeartbeatMS; 0 = a refused call leaves the line.
	Waiter      string
	HeartbeatMS int64
	Inboxes     string // what the names of the sidecars' channels begin with
}

// LineKeys are the keys of the waiting line for a permit.
func (s Permit) LineKeys() lease.LineKeys {
	return lease.LineKeys{Line: s.Line, Heartbeats: s.Heartbeats}
}

// Out is the result of a charge of any number of bands.
type Out struct {
	coord.LimitAnswer
	// First: no waiter of a living sidecar is before the call in the waiting line for a permit.
	First bool
	Bands []BandView // with PeekEach
}

// BandView is the state of one band.
type BandView struct{ Remaining, Current, ResetAfterUS int64 }

// GiveBackScript gives back a slot that was promised. It is not idempotent: a second run would
// credit the charge of another call that came in between.
var GiveBackScript = lua.Define[GiveBackIn, SlotState](files, lua.Source{
	Name:    "ratelimit_give_back",
	Returns: []string{"slot"},
})

// SlotState is the state in which the script found a slot that was given back.
type SlotState int64

// The states of a slot.
const (
	// SlotInner: later slots were promised, or the state no longer counts this one. Crediting
	// it would admit more than the limit.
	SlotInner SlotState = 0
	// SlotCredited: it was the last slot that was promised, and is free again.
	SlotCredited SlotState = 1
	// SlotCome: the slot has come, and counts as used.
	SlotCome SlotState = 2
)

// GiveBackIn is one slot, as it was charged.
type GiveBackIn struct {
	State, Pace string `lua:"key"`
	// StoredReply is the key of the stored reply of the request that was promised the slot. It
	// is deleted, so that a repetition of the request is a new one; empty = none.
	StoredReply string `lua:"key,optional"`
	// Algorithm is the state's, by its name on the wire; ID is Charge's.
	Algorithm, ID string
	Cost          int64
	// SlotUS is when the slot comes, PromisedUS when it was promised.
	SlotUS, PromisedUS int64
}

// RefundScript gives back what an unused grant took. The marker makes it idempotent. It notifies
// no sidecar: a refusal that others remember expires within a second anyway.
var RefundScript = lua.Define[RefundIn, RefundState](files, lua.Source{
	Name:       "ratelimit_refund",
	Returns:    []string{"state"},
	Idempotent: true,
})

// RefundState is the outcome of a refund.
type RefundState int64

// The outcomes of a refund.
const (
	// RefundExpired: the grant no longer counts, or the state never counted it.
	RefundExpired RefundState = 0
	// Refunded: what still counted of it is free.
	Refunded RefundState = 1
	// RefundRepeated: the grant was refunded before.
	RefundRepeated RefundState = 2
)

// RefundIn is one grant.
type RefundIn struct {
	// Marker is a key that belongs to the grant alone, under the state's tag.
	State, Marker string `lua:"key"`
	// Algorithm is the state's, by its name on the wire; ID is Charge's.
	Algorithm, ID string
	Cost          int64
	// AtUS is when the grant was admitted: NowUS of the result, or the slot.
	AtUS int64
}

// ResetScript deletes a limit's state, and notifies every sidecar.
var ResetScript = lua.Define[ResetIn, bool](files, lua.Source{
	Name:       "ratelimit_reset",
	Returns:    []string{"reset"},
	Idempotent: true,
})

// ResetIn names one state, and the channel on which "reset" and its key are published.
type ResetIn struct {
	State   string `lua:"key"`
	Channel string
}
