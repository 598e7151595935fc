package ratelimit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/nearest"
)

// algorithm is a way to count. All that defines one is here and in its scripts.
type algorithm struct {
	name string
	// bursts: a band may have a burst beside its limit.
	bursts bool
	// unburst returns how many tokens a band with that limit admits at once if it has no burst.
	unburst func(limit int64) int64
	// lean: one band without max_concurrent has a script of its own (TokenBucketScript),
	// on the same state.
	lean bool
	// maxLimit is the highest limit of a band.
	maxLimit int64
	// script charges all bands of a limit, or none.
	script lua.Script[In, Out]
	// lease charges a block ahead, for mode leased; nil = the algorithm does not support it.
	lease *lua.Script[LeaseIn, LeaseOut]
}

// algorithms are those that a rule may name, sorted by name.
var algorithms = []*algorithm{
	{
		name: api.AlgorithmFixedWindow, unburst: wholeLimit, maxLimit: coord.MaxLimit,
		script: charges("ratelimit_fixed_window"), lease: leases("ratelimit_fixed_window_lease"),
	},
	{
		name: api.AlgorithmLeakyBucket, bursts: true, unburst: oneAtOnce, maxLimit: coord.MaxLimit,
		script: charges("ratelimit_leaky_bucket"),
	},
	{ // It cannot compute when its estimate has room again, and so promises no slot.
		name: api.AlgorithmSlidingWindowCounter, unburst: wholeLimit, maxLimit: coord.MaxLimit,
		script: charges("ratelimit_sliding_window_counter"),
	},
	{ // It keeps an entry for each charge.
		name: api.AlgorithmSlidingWindowLog, unburst: wholeLimit, maxLimit: api.MaxLogLimit,
		script: charges("ratelimit_sliding_window_log"),
	},
	{
		name: api.AlgorithmTokenBucket, bursts: true, unburst: wholeLimit, lean: true, maxLimit: coord.MaxLimit,
		script: charges("ratelimit_token_bucket_bands"), lease: leases("ratelimit_token_bucket_lease"),
	},
}

func charges(script string) lua.Script[In, Out] {
	return lua.Define[In, Out](files, lua.Source{Name: script, StoresReply: true})
}

// LeaseScript returns the script that charges an algorithm ahead. The algorithm must have one.
func LeaseScript(algorithm string) lua.Script[LeaseIn, LeaseOut] {
	return *algorithmNamed(algorithm).lease
}

// ChargeScript returns the script of the algorithm with that name on the wire, which must exist.
func ChargeScript(algorithm string) lua.Script[In, Out] { return algorithmNamed(algorithm).script }

func wholeLimit(limit int64) int64 { return limit }
func oneAtOnce(int64) int64        { return 1 }

// algorithmNamed returns the algorithm of that name, or nil.
func algorithmNamed(name string) *algorithm {
	for _, a := range algorithms {
		if a.name == name {
			return a
		}
	}
	return nil
}

// capacity is how many tokens a band admits at once. A limit of 0 admits nothing, whatever its
// burst, since the tokens of the burst would never refill.
func (a *algorithm) capacity(b api.Band) int64 {
	switch {
	case b.Limit == 0:
		return 0
	case b.Burst > 0:
		return b.Burst
	default:
		return a.unburst(b.Limit)
	}
}

// plain reports whether the burst of a band has the same meaning as no burst.
func (a *algorithm) plain(b api.Band) bool {
	return b.Limit == 0 || a.bursts && b.Burst == a.unburst(b.Limit)
}

// checkWait refuses a wait if the algorithm promises no slots.
func (a *algorithm) checkWait(ms int64) error {
	if ms > 0 && !slices.Contains(api.WaitingAlgorithms, a.name) {
		return coord.Invalid("wait_ms: a %s cannot promise a slot; leave it out, or use %s", a.name, api.AlgorithmSlidingWindowLog)
	}
	return nil
}

// checkBand reports what this algorithm does not allow in a band.
func (a *algorithm) checkBand(p *coord.Problems, at string, b api.Band) {
	if b.Limit > a.maxLimit && b.Limit <= coord.MaxLimit {
		p.Add(at+"limit", "%d is more than a %s keeps; use at most %d, or %s", b.Limit, a.name, a.maxLimit, api.AlgorithmSlidingWindowCounter)
	}
	if b.Burst > 0 && !a.bursts {
		p.Add(at+"burst", "a %s has none; remove it, or use %s or %s", a.name, api.AlgorithmTokenBucket, api.AlgorithmLeakyBucket)
	} else {
		checkAmount(p, at+"burst", b.Burst)
	}
}

// unknownAlgorithm is the error text for an unknown name, with the names to use.
func unknownAlgorithm(written string) string {
	var names []string
	for _, a := range algorithms {
		names = append(names, a.name)
	}
	last := len(names) - 1
	known := strings.Join(names[:last], ", ") + " or " + names[last]
	if written == "" {
		return "missing; use " + known
	}
	if near, ok := nearest.Name(written, names); ok {
		return fmt.Sprintf("%q is not an algorithm; did you mean %q?", written, near)
	}
	return fmt.Sprintf("%q is not an algorithm; use %s", written, known)
}
