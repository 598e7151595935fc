package ratelimit

import (
	"embed"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

//go:embed *.lua
var files embed.FS

// Band is one band, reduced: L per P microseconds with gcd(L, P) = 1, at
// most Capacity at once. L = 0 lets nothing through, whatever Capacity says.
// PeriodMS is the band's identity across reloads, and the window of algorithms
// that have one; scripts read it from the signature.
type Band struct {
	Capacity, L, P, PeriodMS int64
}

// TokenBucketScript charges a token bucket of one band that has no
// max_concurrent: the lean form of its general script, on the same state. Both read
// the replies that the other stored under a request id.
var TokenBucketScript = lua.Define[TokenBucketIn, coord.LimitAnswer](files, lua.Source{
	Name:        "ratelimit_token_bucket",
	StoresReply: true,
})

// TokenBucketIn is one charge of one band; what Charge and Band say
// of its fields holds here.
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

// Charge is a cost and the terms of the limit that it is charged to; Cost 0 only looks.
type Charge struct {
	Cost int64
	Peek Peek
	// WaitUS is how far away a slot may be that is promised and charged now when
	// the cost does not fit yet; 0 = none is.
	WaitUS int64
	// Revision orders the versions of a rule; a caller with an older one than
	// the state's uses the state's parameters.
	Revision int64
	// Signature is the canonical text of all bands, Capacity/L/P/PeriodMS joined
	// by ";" and sorted by period; equal text = equal parameters.
	Signature string
	// ID names what is charged, unlike any other under this key.
	ID string
}

// Peek says whether a charge takes its cost.
type Peek int64

// The values of Peek.
const (
	PeekOff  Peek = 0 // it takes the cost
	PeekOn   Peek = 1 // it answers what taking the cost would, and takes nothing
	PeekEach Peek = 2 // as PeekOn, and it tells of every band
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

// Out is the answer of a limit of any number of bands.
type Out struct {
	coord.LimitAnswer
	// First: no waiter of a living sidecar is before the call in the waiting line for a permit.
	First bool
	Bands []BandView // with PeekEach
}

// BandView is the state of one band.
type BandView struct{ Remaining, Current, ResetAfterUS int64 }

// GiveBackScript gives back a slot that was promised. It is not idempotent:
// the credit of a second run would be another's, who came in between.
var GiveBackScript = lua.Define[GiveBackIn, SlotState](files, lua.Source{
	Name:    "ratelimit_give_back",
	Returns: []string{"slot"},
})

// SlotState is the state in which the script found a slot that was given back.
type SlotState int64

// The states of a slot.
const (
	// SlotInner: others were promised later ones, or the state does not know of
	// it any more. Crediting it would let more through than the limit.
	SlotInner SlotState = 0
	// SlotCredited: it was the last one that was promised, and is free again.
	SlotCredited SlotState = 1
	// SlotCome: it counts as used.
	SlotCome SlotState = 2
)

// GiveBackIn is one slot, as it was charged.
type GiveBackIn struct {
	State, Pace string `lua:"key"`
	// StoredReply is the key of the request that was promised the slot, whose repetition
	// is then a new one; empty for none.
	StoredReply string `lua:"key,optional"`
	// Algorithm is the state's, by its name on the wire; ID is Charge's.
	Algorithm, ID string
	Cost          int64
	// SlotUS is when it comes, PromisedUS when it was promised.
	SlotUS, PromisedUS int64
}

// RefundScript gives back what a grant took and was not used for. The marker
// makes it idempotent. It tells nobody: caches of other sidecars may be as old as
// they may be anyway.
var RefundScript = lua.Define[RefundIn, RefundState](files, lua.Source{
	Name:       "ratelimit_refund",
	Returns:    []string{"state"},
	Idempotent: true,
})

// RefundState is the outcome of a refund.
type RefundState int64

// The outcomes of a refund.
const (
	// RefundExpired: nothing of the grant counts any more, or nothing is known of it.
	RefundExpired RefundState = 0
	// Refunded: what still counted of it is free.
	Refunded RefundState = 1
	// RefundRepeated: it was refunded before.
	RefundRepeated RefundState = 2
)

// RefundIn is one grant.
type RefundIn struct {
	// Marker is a key of the grant's own, under the state's tag.
	State, Marker string `lua:"key"`
	// Algorithm is the state's, by its name on the wire; ID is Charge's.
	Algorithm, ID string
	Cost          int64
	// AtUS is when it was let through: NowUS of the answer, or the slot.
	AtUS int64
}

// ResetScript forgets a limit's state, and tells every sidecar.
var ResetScript = lua.Define[ResetIn, bool](files, lua.Source{
	Name:       "ratelimit_reset",
	Returns:    []string{"reset"},
	Idempotent: true,
})

// ResetIn names one state, and the channel on which "reset" and its key
// are broadcast.
type ResetIn struct {
	State   string `lua:"key"`
	Channel string
}
