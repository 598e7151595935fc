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
	Args:    []string{"cost", "peek", "revision", "signature", "capacity", "l", "p"},
	Returns: tokenBucketReturns,
	Latched: true,
}, readTokenBucket)

// RatelimitTokenBucketBands charges a token bucket of several bands, all or none.
var RatelimitTokenBucketBands = define[RatelimitTokenBucketBandsIn](Source{
	Name:    "ratelimit_token_bucket_bands",
	Keys:    []string{"bucket"},
	Args:    []string{"cost", "peek", "revision", "signature", "bands", "capacity", "l", "p", "..."},
	Returns: tokenBucketReturns,
	Latched: true,
}, readTokenBucket)

var tokenBucketReturns = []string{"allowed", "band", "remaining", "current", "retry_after_us", "reset_after_us", "now_us"}

func readTokenBucket(r *Reply) RatelimitOut {
	return RatelimitOut{
		Allowed: r.Bool(), Band: r.Int(), Remaining: r.Int(), Current: r.Int(),
		RetryAfterUS: r.Int(), ResetAfterUS: r.Int(), NowUS: r.Int(),
	}
}

// RatelimitTokenBucketIn is one charge of one band; Cost 0 only looks.
type RatelimitTokenBucketIn struct {
	Bucket string // key
	Cost   int64
	// Peek answers what taking Cost would, and takes nothing.
	Peek bool
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
	return append(to, in.Cost, flag(in.Peek), in.Revision, in.Signature, in.Band.Capacity, in.Band.L, in.Band.P)
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
	Revision  int64
	Signature string
	Bands     []TokenBucketBand
}

func (in RatelimitTokenBucketBandsIn) keys(to []string) []string { return append(to, in.Bucket) }
func (in RatelimitTokenBucketBandsIn) args(to []any) []any {
	to = append(to, in.Cost, flag(in.Peek), in.Revision, in.Signature, len(in.Bands))
	for _, b := range in.Bands {
		to = append(to, b.Capacity, b.L, b.P)
	}
	return to
}

// RatelimitOut answers for one band, counted from 1: the one that refused (of
// several the one that is possible last), else the one with the least
// remaining. When the state's rule is newer than the caller's, it is a band of
// that rule, as far as the caller has so many.
type RatelimitOut struct {
	Allowed            bool
	Band               int64
	Remaining, Current int64
	// RetryAfterUS is 0 when allowed and -1 when the cost never fits. Waits past
	// 2^53 us (285 years) are told as that.
	RetryAfterUS, ResetAfterUS, NowUS int64
}

// RatelimitReset forgets a limit's state.
var RatelimitReset = define[RatelimitResetIn](Source{
	Name:       "ratelimit_reset",
	Keys:       []string{"state"},
	Returns:    []string{"reset"},
	Idempotent: true,
}, func(r *Reply) bool { return r.Bool() })

// RatelimitResetIn names one state.
type RatelimitResetIn struct {
	State string // key
}

func (in RatelimitResetIn) keys(to []string) []string { return append(to, in.State) }
func (in RatelimitResetIn) args(to []any) []any       { return to }
