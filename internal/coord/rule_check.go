package coord

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// The bounds of a band, as on the wire (api.Band).
const (
	maxLimit  = 1_000_000_000
	maxPeriod = 366 * 24 * time.Hour
)

// inlineLabel stands for all limits given in full where rules are told apart by
// name, such as in metrics. No rule has this name, or it would share their figures.
const inlineLabel = "inline"

// CheckRules returns every mistake in the rules, with paths that start with items[i].
func CheckRules(items []api.Rule) Problems {
	var p Problems
	first := make(map[string]int, len(items))
	for i, it := range items {
		at := fmt.Sprintf("items[%d].", i)
		p.checkRuleName(at+"name", it.Name)
		if j, dup := first[it.Name]; dup && it.Name != "" {
			p.add(at+"name", "%q is also the name of items[%d]; give each rule its own name", it.Name, j)
		} else {
			first[it.Name] = i
		}
		p.checkLimit(at, it.Algorithm, it.Limits)
		p.checkFailure(at, it)
		p.checkConcurrency(at+"max_concurrent", it.MaxConcurrent)
		p.checkHeadroom(at, it)
		p.checkKeys(at, it)
		p.checkUpstream(at, it)
	}
	return p
}

// maxShare is more pods than any fleet has.
const maxShare = 1_000_000

// checkFailure is about what happens when Redis is away, or need not be asked.
func (p *Problems) checkFailure(at string, it api.Rule) {
	if m := FailMode(it.FailMode).mistake(); m != "" {
		p.add(at+"fail_mode", "%s", m)
	}
	if it.LocalShareOf < 0 || it.LocalShareOf > maxShare {
		p.add(at+"local_share_of", "%d is out of range; use 1 to %d, the number of pods that share the limit", it.LocalShareOf, maxShare)
	}
	if it.DenyCache != "" && it.DenyCache != "on" && it.DenyCache != "off" {
		p.add(at+"deny_cache", "%q is neither on nor off; write one of them", it.DenyCache)
	}
}

// checkRuleName is strict about what is shown: rule names appear in answers,
// logs and metric labels.
func (p *Problems) checkRuleName(path, name string) {
	switch {
	case name == "":
		p.add(path, "missing; give the rule the name that calls will use")
	case name == inlineLabel:
		p.add(path, "%q is what metrics and ratelimit.stats call limits given in full; give the rule another name", name)
	case len(name) > api.MaxNameBytes:
		p.add(path, "%d bytes are too many; use at most %d", len(name), api.MaxNameBytes)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		p.add(path, "%q has bytes that cannot be shown; use UTF-8 without control characters", name)
	}
}

// checkLimit finds the mistakes of a limit, with the same words for a rule and
// for a limit given in full. At is what paths start with.
func (p *Problems) checkLimit(at, algorithm string, bands []api.Band) {
	if algorithmNamed(algorithm) == nil {
		p.add(at+"algorithm", "%s", unknownAlgorithm(algorithm))
	}
	if len(bands) == 0 {
		p.add(at+"limits", "missing; give 1 to %d limits, each with limit and period_ms", api.MaxBands)
	}
	p.checkBands(at, algorithm, bands)
}

func (p *Problems) checkBands(at, algorithm string, bands []api.Band) {
	if len(bands) > api.MaxBands {
		p.add(at+"limits", "%d limits are too many; give at most %d", len(bands), api.MaxBands)
	}
	known := algorithmNamed(algorithm)
	for i, b := range bands {
		band := fmt.Sprintf("%slimits[%d].", at, i)
		p.checkAmount(band+"limit", b.Limit)
		if known == nil {
			p.checkAmount(band+"burst", b.Burst)
		} else {
			known.checkBand(p, band, b)
		}
		p.checkPeriod(band+"period_ms", b.PeriodMS)
		if j := slices.IndexFunc(bands[:i], func(o api.Band) bool { return o.PeriodMS == b.PeriodMS }); j >= 0 {
			p.add(band+"period_ms", "%d is also the period of limits[%d]; keep one limit per period, the lower one",
				b.PeriodMS, j)
		}
	}
}

func (p *Problems) checkAmount(path string, n int64) {
	if n < 0 || n > maxLimit {
		p.add(path, "%d is out of range; use 0 to %d", n, int64(maxLimit))
	}
}

func (p *Problems) checkPeriod(path string, ms int64) {
	switch most := maxPeriod.Milliseconds(); {
	case ms == 0:
		p.add(path, "missing; give the period in milliseconds, such as 60000 for a minute")
	case ms < 1 || ms > most:
		p.add(path, "%d is out of range; use 1 to %d (366 days)", ms, most)
	}
}

func (p *Problems) add(path, format string, args ...any) {
	*p = append(*p, Problem{Path: path, Message: fmt.Sprintf(format, args...)})
}
