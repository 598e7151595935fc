package ratelimit

import (
	"cmp"
	"fmt"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// The modes of a rule.
const (
	modeExact  = "exact"
	modeLeased = "leased"
)

// defaultLease is the lease of a rule in mode leased that gives none.
var defaultLease = api.RuleLease{MaxSharePercent: 10, TTLMS: 1000}

const (
	// minLeaseMS is the shortest lease: less would leave a block no time after the margins of
	// its validity.
	minLeaseMS = 10
	maxLeaseMS = 60_000
	// leastBlock is the smallest block that saves a call to Redis.
	leastBlock = 2
)

// leaseTerms are the terms of a limit in mode leased.
type leaseTerms struct {
	most int64 // tokens that one sidecar may hold of a key
	ttl  time.Duration
}

// leaseOf fills in the defaults of a lease.
func leaseOf(l *api.RuleLease) api.RuleLease {
	if l == nil {
		return defaultLease
	}
	return api.RuleLease{
		MaxSharePercent: cmp.Or(l.MaxSharePercent, defaultLease.MaxSharePercent), TTLMS: cmp.Or(l.TTLMS, defaultLease.TTLMS),
	}
}

// leaseTermsOf returns nil if each call is decided in Redis: in mode exact, and if the limits of
// an override are so low that no block saves a call.
func leaseTermsOf(o api.Rule, a *algorithm, bands []api.Band) *leaseTerms {
	if o.Mode != modeLeased || a.lease == nil {
		return nil
	}
	l := leaseOf(o.Lease)
	t := &leaseTerms{most: coord.MaxLimit, ttl: coord.Millis(l.TTLMS)}
	for _, b := range bands {
		t.most = min(t.most, largestBlock(b, a, l.MaxSharePercent))
	}
	if t.most < leastBlock {
		return nil
	}
	return t
}

// largestBlock is how many tokens of a band one sidecar may hold.
func largestBlock(b api.Band, a *algorithm, percent int64) int64 {
	return min(b.Limit*percent/100, a.capacity(b))
}

// checkLease checks mode and lease.
func checkLease(p *coord.Problems, at string, it api.Rule) {
	if it.Mode != "" && it.Mode != modeExact && it.Mode != modeLeased {
		p.Add(at+"mode", "%q is neither exact nor leased; write one of them", it.Mode)
		return
	}
	good := len(*p)
	if it.Lease != nil {
		checkLeaseBounds(p, at, *it.Lease)
		if it.Mode == "" {
			p.Add(at+"lease", "says how much is charged ahead, which only mode: leased does; add that, or remove it")
		}
	}
	a := algorithmNamed(it.Algorithm)
	if it.Mode != modeLeased || a == nil || len(*p) > good {
		return
	}
	if a.lease == nil {
		p.Add(at+"mode", "a %s cannot be leased, since what is charged ahead loses its instants; use %s or %s, or leave mode out",
			a.name, api.AlgorithmTokenBucket, api.AlgorithmFixedWindow)
		return
	}
	if it.MaxConcurrent > 0 {
		p.Add(at+"mode", "leased cannot be combined with max_concurrent, since each permit is taken in Redis; leave one of the two out")
	}
	for i, o := range it.Overrides {
		if o.MaxConcurrent > 0 {
			p.Add(fmt.Sprintf("%soverrides[%d].max_concurrent", at, i), "cannot be given in mode leased, since each permit is taken in Redis; leave one of the two out")
		}
	}
	checkBlocks(p, at, it, a)
}

func checkLeaseBounds(p *coord.Problems, at string, l api.RuleLease) {
	if n := l.MaxSharePercent; n < 0 || n > coord.MaxPercent {
		p.Add(at+"lease.max_share_percent", "%d is out of range; use 1 to %d, or leave it out", n, coord.MaxPercent)
	}
	if n := l.TTLMS; n != 0 && (n < minLeaseMS || n > maxLeaseMS) {
		p.Add(at+"lease.ttl_ms", "%d is out of range; use %d to %d, or leave it out", n, minLeaseMS, maxLeaseMS)
	}
}

// checkBlocks checks that blocks save calls to Redis, and last long enough. It skips limits of
// 0, or out of range.
func checkBlocks(p *coord.Problems, at string, it api.Rule, a *algorithm) {
	percent := leaseOf(it.Lease).MaxSharePercent
	for i, b := range it.Limits {
		path := fmt.Sprintf("%slimits[%d].", at, i)
		kept := less(b, it.HeadroomPercent)
		if n := largestBlock(kept, a, percent); kept.Limit > 0 && n < leastBlock {
			p.Add(path+"limit", "in mode leased a sidecar may hold %d of %d, by lease.max_share_percent %d and the burst, which saves nothing; "+
				"raise one of them, or leave mode out", n, kept.Limit, percent)
		}
		if a.name == api.AlgorithmFixedWindow && b.PeriodMS > 0 && b.PeriodMS < minLeaseMS {
			p.Add(path+"period_ms", "%d are too few for mode leased, where a block ends with its window; use at least %d, or leave mode out", b.PeriodMS, minLeaseMS)
		}
	}
}

// plainLease removes the fields that are equal to their defaults; nil = none is left.
func plainLease(mode string, l *api.RuleLease) *api.RuleLease {
	if l == nil || mode != modeLeased {
		return nil
	}
	o := *l
	if o.MaxSharePercent == defaultLease.MaxSharePercent {
		o.MaxSharePercent = 0
	}
	if o.TTLMS == defaultLease.TTLMS {
		o.TTLMS = 0
	}
	if o == (api.RuleLease{}) {
		return nil
	}
	return &o
}
