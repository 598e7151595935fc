package lua

// RatelimitBand is one band, reduced: L per P microseconds with gcd(L, P) = 1, at
// most Capacity at once. L = 0 lets nothing through, whatever Capacity says.
// PeriodMS is the band's identity across reloads, and the window of algorithms
// that have one; scripts read it from the signature.
type RatelimitBand struct {
	Capacity, L, P, PeriodMS int64
}

// Ratelimit is the script of each algorithm, by its name on the wire: all bands of
// a limit are charged, or none.
var Ratelimit = map[string]Script[RatelimitIn, RatelimitOut]{
	"token_bucket":           defineRatelimit("ratelimit_token_bucket_bands"),
	"leaky_bucket":           defineRatelimit("ratelimit_leaky_bucket"),
	"fixed_window":           defineRatelimit("ratelimit_fixed_window"),
	"sliding_window_log":     defineRatelimit("ratelimit_sliding_window_log"),
	"sliding_window_counter": defineRatelimit("ratelimit_sliding_window_counter"),
}

// RatelimitTokenBucket charges a token bucket of one band that has no
// max_concurrent: the lean form of its general script, on the same state.
var RatelimitTokenBucket = define[RatelimitTokenBucketIn](Source{
	Name:    "ratelimit_token_bucket",
	Keys:    []string{"state", "gate"},
	Args:    []string{"cost", "peek", "wait_us", "revision", "signature", "capacity", "l", "p"},
	Returns: ratelimitReturns,
	Latched: true,
}, readRatelimit)

var ratelimitReturns = []string{
	"allowed", "band", "remaining", "current", "retry_after_us", "reset_after_us", "now_us", "denied", "newer",
}

func defineRatelimit(name string) Script[RatelimitIn, RatelimitOut] {
	return define[RatelimitIn](Source{
		Name: name,
		Keys: []string{"state", "gate", "leases", "holders", "line", "beats"},
		Args: []string{
			"cost", "peek", "wait_us", "revision", "signature", "id", "max_concurrent", "hold_ms",
			"session", "client", "instance", "waiter", "beat_ms", "inboxes",
		},
		Returns: append(ratelimitReturns[:9:9], "first", "bands", "then", "remaining", "current", "reset_after_us"),
		Latched: true,
	}, func(r *Reply) RatelimitOut {
		out := readRatelimit(r)
		if !r.More() {
			return out // a replay of the lean script's
		}
		out.First = r.Bool()
		for range r.Int() {
			out.Bands = append(out.Bands, RatelimitBandView{Remaining: r.Int(), Current: r.Int(), ResetAfterUS: r.Int()})
		}
		return out
	})
}

func readRatelimit(r *Reply) RatelimitOut {
	allowed := r.Int()
	return RatelimitOut{
		Allowed: allowed == 1, Reserved: allowed == 2, Band: r.Int(), Remaining: r.Int(), Current: r.Int(),
		RetryAfterUS: r.Int(), ResetAfterUS: r.Int(), NowUS: r.Int(), Denied: r.Str(), Newer: r.Str(),
	}
}

// RatelimitTokenBucketIn is one charge of one band; what RatelimitIn says of its
// fields holds here.
type RatelimitTokenBucketIn struct {
	State, Gate string // keys
	Cost        int64
	Peek        bool
	WaitUS      int64
	Revision    int64
	Signature   string
	Band        RatelimitBand
}

func (in RatelimitTokenBucketIn) keys(to []string) []string { return append(to, in.State, in.Gate) }
func (in RatelimitTokenBucketIn) args(to []any) []any {
	return append(to, in.Cost, flag(in.Peek), in.WaitUS, in.Revision, in.Signature, in.Band.Capacity, in.Band.L, in.Band.P)
}

func flag(set bool) int {
	if set {
		return 1
	}
	return 0
}

// RatelimitIn is one charge of 1 to 4 bands; Cost 0 only looks.
type RatelimitIn struct {
	// State is the algorithm's own; Gate has what holds up the key whatever the
	// algorithm is.
	State, Gate string // keys
	Cost        int64
	// Peek answers what taking Cost would, and takes nothing. Each also tells of
	// every band.
	Peek, Each bool
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
	Seat
}

// Seat is the lease that a limit with max_concurrent gives out with each charge.
// The zero Seat is none.
type Seat struct {
	Leases, Holders string // keys
	LineKeys
	MaxConcurrent int64
	// HoldMS is how long the lease lives from the slot on, unless it is renewed.
	HoldMS                    int64
	Session, Client, Instance string // who holds it; an empty Session = it ends with its time alone
	// Waiter stands in line for it; empty = it does not wait. Its place lives for
	// BeatMS; 0 = it leaves the line if it is not served.
	Waiter  string
	BeatMS  int64
	Inboxes string // what the names of the sidecars' channels begin with
}

func (in RatelimitIn) keys(to []string) []string {
	to = append(to, in.State, in.Gate)
	if in.MaxConcurrent > 0 {
		to = append(to, in.Leases, in.Holders, in.Line, in.Beats)
	}
	return to
}

func (in RatelimitIn) args(to []any) []any {
	peek := flag(in.Peek)
	if in.Each {
		peek = 2
	}
	return append(to, in.Cost, peek, in.WaitUS, in.Revision, in.Signature, in.ID, in.MaxConcurrent, in.HoldMS,
		in.Session, in.Client, in.Instance, in.Waiter, in.BeatMS, in.Inboxes)
}

// RatelimitOut answers for one band, counted from 1: the one that is in the way
// (of several the one that is possible last), else the one with the least
// remaining.
type RatelimitOut struct {
	// Reserved: not now, but at the slot, which is NowUS + RetryAfterUS.
	Allowed, Reserved bool
	Band              int64
	// Remaining is never negative; Current past the capacity is what was promised.
	Remaining, Current int64
	// RetryAfterUS is 0 when allowed and -1 when the cost never fits. Waits past
	// 2^53 us (285 years) are told as that.
	RetryAfterUS, ResetAfterUS, NowUS int64
	// Denied is limit, pause, delay or concurrency; empty when it is not refused.
	Denied string
	// Newer is the signature of the rule that decided, whose bands Band and Bands
	// are about, when it is newer than the caller's; empty = it is the caller's.
	Newer string
	// First: nobody alive is before the caller in the line for a lease.
	First bool
	Bands []RatelimitBandView // with RatelimitIn.Each
}

// RatelimitBandView is how one band stands.
type RatelimitBandView struct{ Remaining, Current, ResetAfterUS int64 }

// RatelimitGiveBack gives back a slot that was promised. It is not idempotent:
// the credit of a second run would be another's, who came in between.
var RatelimitGiveBack = define[RatelimitGiveBackIn](Source{
	Name:    "ratelimit_give_back",
	Keys:    []string{"state", "gate", "latch"},
	Args:    []string{"algorithm", "id", "cost", "slot_us", "promised_us"},
	Returns: []string{"slot"},
}, func(r *Reply) SlotState { return SlotState(r.Int()) })

// SlotState is what a slot was found to be when it was given back.
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

// RatelimitGiveBackIn is one slot, as it was charged.
type RatelimitGiveBackIn struct {
	State, Gate string // keys
	// Latch is the key of the request that was promised the slot, whose repetition
	// is then a new one; empty for none.
	Latch string
	// Algorithm is the state's, by its name on the wire; ID is RatelimitIn's.
	Algorithm, ID string
	Cost          int64
	// SlotUS is when it comes, PromisedUS when it was promised.
	SlotUS, PromisedUS int64
}

func (in RatelimitGiveBackIn) keys(to []string) []string {
	// A cluster gives the empty key a slot of its own.
	if in.Latch == "" {
		in.Latch = in.State
	}
	return append(to, in.State, in.Gate, in.Latch)
}

func (in RatelimitGiveBackIn) args(to []any) []any {
	return append(to, in.Algorithm, in.ID, in.Cost, in.SlotUS, in.PromisedUS)
}

// RatelimitRefund gives back what a grant took and was not used for. The marker
// makes it idempotent. It tells nobody: caches of other sidecars may be as old as
// they may be anyway.
var RatelimitRefund = define[RatelimitRefundIn](Source{
	Name:       "ratelimit_refund",
	Keys:       []string{"state", "marker"},
	Args:       []string{"algorithm", "id", "cost", "at_us"},
	Returns:    []string{"state"},
	Idempotent: true,
}, func(r *Reply) RefundState { return RefundState(r.Int()) })

// RefundState is what became of a refund.
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

// RatelimitRefundIn is one grant.
type RatelimitRefundIn struct {
	// Marker is a key of the grant's own, under the state's tag.
	State, Marker string // keys
	// Algorithm is the state's, by its name on the wire; ID is RatelimitIn's.
	Algorithm, ID string
	Cost          int64
	// AtUS is when it was let through: NowUS of the answer, or the slot.
	AtUS int64
}

func (in RatelimitRefundIn) keys(to []string) []string { return append(to, in.State, in.Marker) }
func (in RatelimitRefundIn) args(to []any) []any {
	return append(to, in.Algorithm, in.ID, in.Cost, in.AtUS)
}

// RatelimitReset forgets a limit's state, and tells every sidecar.
var RatelimitReset = define[RatelimitResetIn](Source{
	Name:       "ratelimit_reset",
	Keys:       []string{"state"},
	Args:       []string{"channel"},
	Returns:    []string{"reset"},
	Idempotent: true,
}, func(r *Reply) bool { return r.Bool() })

// RatelimitResetIn names one state, and the channel on which "reset" and its key
// are broadcast.
type RatelimitResetIn struct {
	State   string // key
	Channel string
}

func (in RatelimitResetIn) keys(to []string) []string { return append(to, in.State) }
func (in RatelimitResetIn) args(to []any) []any       { return append(to, in.Channel) }
