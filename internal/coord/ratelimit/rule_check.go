package ratelimit

import (
	"fmt"
	"slices"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// inlineLabel is the name of all limits given in full where rules are distinguished by name,
// such as in metrics. No rule may have it, or it would share their figures.
const inlineLabel = "inline"

// CheckRules returns every mistake in the rules, with paths that start with items[i].
func CheckRules(items []api.Rule) coord.Problems {
	var p coord.Problems
	first := make(map[string]int, len(items))
	for i, it := range items {
		at := fmt.Sprintf("items[%d].", i)
		checkRuleName(&p, at+"name", it.Name)
		if j, dup := first[it.Name]; dup && it.Name != "" {
			p.Add(at+"name", "%q is also the name of items[%d]; give each rule its own name", it.Name, j)
		} else {
			first[it.Name] = i
		}
		checkLimit(&p, at, it.Algorithm, it.Limits)
		checkFailure(&p, at, it)
		checkConcurrency(&p, at+"max_concurrent", it.MaxConcurrent)
		checkHeadroom(&p, at, it)
		checkLease(&p, at, it)
		checkKeys(&p, at, it)
		checkUpstream(&p, at, it)
		p.AddBounds(at, it)
	}
	return p
}

// maxShare bounds local_share_of: no fleet has more pods.
const maxShare = 1_000_000

// checkFailure checks what decides when Redis does not reply, or is not asked.
func checkFailure(p *coord.Problems, at string, it api.Rule) {
	if m := coord.FailMode(it.FailMode).Mistake(); m != "" {
		p.Add(at+"fail_mode", "%s", m)
	}
	if it.LocalShareOf < 0 || it.LocalShareOf > maxShare {
		p.Add(at+"local_share_of", "%d is out of range; use 1 to %d, the number of pods that share the limit", it.LocalShareOf, maxShare)
	}
	if it.DenyCache != "" && it.DenyCache != "on" && it.DenyCache != "off" {
		p.Add(at+"deny_cache", "%q is neither on nor off; write one of them", it.DenyCache)
	}
}

// checkRuleName checks a rule's name, which must not be inlineLabel.
func checkRuleName(p *coord.Problems, path, name string) {
	switch name {
	case "":
		p.Add(path, "missing; give the rule the name that calls will use")
	case inlineLabel:
		p.Add(path, "%q is what metrics and ratelimit.stats call limits given in full; give the rule another name", name)
	default:
		p.AddName(path, name)
	}
}

// checkLimit checks a limit. The texts are the same for a rule and for a limit given in full. at
// is the start of all paths.
func checkLimit(p *coord.Problems, at, algorithm string, bands []api.Band) {
	if algorithmNamed(algorithm) == nil {
		p.Add(at+"algorithm", "%s", unknownAlgorithm(algorithm))
	}
	if len(bands) == 0 {
		p.Add(at+"limits", "missing; give 1 to %d limits, each with limit and period_ms", api.MaxBands)
	}
	checkBands(p, at, algorithm, bands)
}

func checkBands(p *coord.Problems, at, algorithm string, bands []api.Band) {
	if len(bands) > api.MaxBands {
		p.Add(at+"limits", "%d limits are too many; give at most %d", len(bands), api.MaxBands)
	}
	known := algorithmNamed(algorithm)
	for i, b := range bands {
		band := fmt.Sprintf("%slimits[%d].", at, i)
		checkAmount(p, band+"limit", b.Limit)
		if known == nil {
			checkAmount(p, band+"burst", b.Burst)
		} else {
			known.checkBand(p, band, b)
		}
		checkPeriod(p, band+"period_ms", b.PeriodMS)
		if j := slices.IndexFunc(bands[:i], func(o api.Band) bool { return o.PeriodMS == b.PeriodMS }); j >= 0 {
			p.Add(band+"period_ms", "%d is also the period of limits[%d]; keep one limit per period, the lower one",
				b.PeriodMS, j)
		}
	}
}

func checkAmount(p *coord.Problems, path string, n int64) {
	if n < 0 || n > coord.MaxLimit {
		p.Add(path, "%d is out of range; use 0 to %d", n, int64(coord.MaxLimit))
	}
}

func checkPeriod(p *coord.Problems, path string, ms int64) {
	switch most := coord.MaxPeriod.Milliseconds(); {
	case ms == 0:
		p.Add(path, "missing; give the period in milliseconds, such as 60000 for a minute")
	case ms < 1 || ms > most:
		p.Add(path, "%d is out of range; use 1 to %d (366 days)", ms, most)
	}
}
