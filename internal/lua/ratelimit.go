package lua

// TokenBucketBand is one band, reduced: L tokens per P microseconds with
// gcd(L, P) = 1, at most Capacity at once. L = 0 lets nothing through, whatever
// Capacity says. PeriodMS is the band's identity across reloads; scripts read
// it from the signature.
type TokenBucketBand struct {
	Capacity, L, P, PeriodMS int64
}

// RatelimitTokenBucket charges a token bucket of one band: the lean form of
// RatelimitTokenBucketBands on the same state.
var RatelimitTokenBucket = define[RatelimitTokenBucketIn](Source{
	Name:    "ratelimit_token_bucket",
	Keys:    []string{"bucket"},
	Args:    []string{"cost", "peek", "wait_us", "revision", "signature", "capacity", "l", "p"},
	Returns: tokenBucketReturns,
	Latched: true,
}, readTokenBucket)

// RatelimitTokenBucketBands charges a token bucket of several bands, all or none.
var RatelimitTokenBucketBands = define[RatelimitTokenBucketBandsIn](Source{
	Name:    "ratelimit_token_bucket_bands",
	Keys:    []string{"bucket"},
	Args:    []string{"cost", "peek", "wait_us", "revision", "signature", "bands", "capacity", "l", "p", "..."},
	Returns: tokenBucketReturns,
	Latched: true,
}, readTokenBucket)

var tokenBucketReturns = []string{"allowed", "band", "remaining", "current", "retry_after_us", "reset_after_us", "now_us"}

func readTokenBucket(r *Reply) RatelimitOut {
	allowed := r.Int()
	return RatelimitOut{
		Allowed: allowed == 1, Reserved: allowed == 2, Band: r.Int(), Remaining: r.Int(), Current: r.Int(),
		RetryAfterUS: r.Int(), ResetAfterUS: r.Int(), NowUS: r.Int(),
	}
}

// RatelimitTokenBucketIn is one charge of one band; Cost 0 only looks.
type RatelimitTokenBucketIn struct {
	Bucket string // key
	Cost   int64
	// Peek answers what taking Cost would, and takes nothing.
	Peek bool
	// WaitUS is how far away a slot may be that is promised and charged now when
	// the cost does not fit yet; 0 = none is.
	WaitUS int64
	// Revision orders the versions of a rule; a caller with an older one than
	// the state's uses the state's parameters.
	Revision int64
	// Signature is the canonical text of all bands, Capacity/L/P/PeriodMS joined
	// by ";" and sorted by period; equal text = equal parameters.
	Signature string
	Band      TokenBucketBand
}

func (in RatelimitTokenBucketIn) keys(to []string) []string { return append(to, in.Bucket) }
func (in RatelimitTokenBucketIn) args(to []any) []any {
	return append(to, in.Cost, flag(in.Peek), in.WaitUS, in.Revision, in.Signature, in.Band.Capacity, in.Band.L, in.Band.P)
}

func flag(set bool) int {
	if set {
		return 1
	}
	return 0
}

// RatelimitTokenBucketBandsIn is one charge of 1 to 4 bands, sorted by period;
// what RatelimitTokenBucketIn says of its fields holds here.
type RatelimitTokenBucketBandsIn struct {
	Bucket    string // key
	Cost      int64
	Peek      bool
	WaitUS    int64
	Revision  int64
	Signature string
	Bands     []TokenBucketBand
}

func (in RatelimitTokenBucketBandsIn) keys(to []string) []string { return append(to, in.Bucket) }
func (in RatelimitTokenBucketBandsIn) args(to []any) []any {
	to = append(to, in.Cost, flag(in.Peek), in.WaitUS, in.Revision, in.Signature, len(in.Bands))
	for _, b := range in.Bands {
		to = append(to, b.Capacity, b.L, b.P)
	}
	return to
}

// RatelimitOut answers for one band, counted from 1: the one that is in the way
// (of several the one that is possible last), else the one with the least
// remaining. When the state's rule is newer than the caller's, it is a band of
// that rule, as far as the caller has so many.
type RatelimitOut struct {
	// Reserved: not now, but at the slot, which is NowUS + RetryAfterUS.
	Allowed, Reserved bool
	Band              int64
	// Remaining is never negative; Current past the capacity is what was promised.
	Remaining, Current int64
	// RetryAfterUS is 0 when allowed and -1 when the cost never fits. Waits past
	// 2^53 us (285 years) are told as that.
	RetryAfterUS, ResetAfterUS, NowUS int64
}

// RatelimitGiveBack gives back a slot that was promised. It is not idempotent:
// the credit of a second run would be another's, who came in between.
var RatelimitGiveBack = define[RatelimitGiveBackIn](Source{
	Name:    "ratelimit_give_back",
	Keys:    []string{"bucket", "latch"},
	Args:    []string{"cost", "slot_us", "promised_us"},
	Returns: []string{"slot"},
}, func(r *Reply) SlotState { return SlotState(r.Int()) })

// SlotState is what a slot was found to be when it was given back.
type SlotState int64

// The states of a slot.
const (
	// SlotInner: others were promised later ones, or the bucket does not know of
	// it any more. Crediting it would let more through than the limit.
	SlotInner SlotState = 0
	// SlotCredited: it was the last one that was promised, and is free again.
	SlotCredited SlotState = 1
	// SlotCome: it counts as used.
	SlotCome SlotState = 2
)

// RatelimitGiveBackIn is one slot, as it was charged.
type RatelimitGiveBackIn struct {
	Bucket string // key
	// Latch is the key of the request that was promised the slot, whose repetition
	// is then a new one; empty for none.
	Latch string
	Cost  int64
	// SlotUS is when it comes, PromisedUS when it was promised.
	SlotUS, PromisedUS int64
}

func (in RatelimitGiveBackIn) keys(to []string) []string {
	// A cluster gives the empty key a slot of its own.
	if in.Latch == "" {
		in.Latch = in.Bucket
	}
	return append(to, in.Bucket, in.Latch)
}

func (in RatelimitGiveBackIn) args(to []any) []any {
	return append(to, in.Cost, in.SlotUS, in.PromisedUS)
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
