package ratelimit

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/match"
)

// maxPermits is the highest max_concurrent.
const maxPermits = 1_000_000

func checkConcurrency(p *coord.Problems, path string, n int64) {
	if n < 0 || n > maxPermits {
		p.Add(path, "%d is out of range; use 1 to %d, or leave it out for any number", n, maxPermits)
	}
}

// maxHeadroom is the highest headroom_percent, which leaves 1 %.
const maxHeadroom = 99

// checkHeadroom checks that the headroom reduces no limit to 0.
func checkHeadroom(p *coord.Problems, at string, it api.Rule) {
	if it.HeadroomPercent < 0 || it.HeadroomPercent > maxHeadroom {
		p.Add(at+"headroom_percent", "%d is out of range; use 0 to %d", it.HeadroomPercent, maxHeadroom)
		return
	}
	check := func(at string, bands []api.Band) {
		for i, b := range bands {
			if b.Limit > 0 && less(b, it.HeadroomPercent).Limit == 0 {
				p.Add(fmt.Sprintf("%slimits[%d].limit", at, i),
					"nothing of %d is left without headroom_percent, %d; lower that, or write the same rate over a longer period", b.Limit, it.HeadroomPercent)
			}
		}
	}
	check(at, it.Limits)
	for i, o := range it.Overrides {
		check(fmt.Sprintf("%soverrides[%d].", at, i), o.Limits)
	}
}

// checkKeys checks the overrides, lists and groups of a rule.
func checkKeys(p *coord.Problems, at string, it api.Rule) {
	for i, o := range it.Overrides {
		path := fmt.Sprintf("%soverrides[%d]", at, i)
		checkMatch(p, path, overridden(o))
		checkBands(p, path+".", it.Algorithm, o.Limits)
		checkConcurrency(p, path+".max_concurrent", o.MaxConcurrent)
		if len(o.Limits) == 0 && o.MaxConcurrent == 0 {
			p.Add(path, "changes nothing; give limits or max_concurrent, or remove it")
		}
	}
	for i, m := range it.Allow {
		checkMatch(p, fmt.Sprintf("%sallow[%d]", at, i), m)
	}
	for i, m := range it.Deny {
		checkMatch(p, fmt.Sprintf("%sdeny[%d]", at, i), m)
	}
	for i, g := range it.Groups {
		path := fmt.Sprintf("%sgroups[%d]", at, i)
		checkMatch(p, path, api.Match{Exact: g.Exact, Glob: g.Glob, Suffix: g.Suffix})
		switch {
		case g.Name == "" && g.Suffix == "":
			p.Add(path+".name", "missing; give the name under which these keys count together, as only a suffix has one of its own")
		case len(g.Name) > api.MaxNameBytes:
			p.Add(path+".name", "%d bytes are too many; use at most %d", len(g.Name), api.MaxNameBytes)
		}
	}
}

// checkMatch checks that a match has exactly one of exact, glob and suffix, and that it can
// match a key.
func checkMatch(p *coord.Problems, path string, m api.Match) {
	given := 0
	for _, way := range [...]struct{ name, text string }{{"exact", m.Exact}, {"glob", m.Glob}, {"suffix", m.Suffix}} {
		if way.text != "" {
			given++
		}
		if len(way.text) > api.MaxNameBytes {
			p.Add(path+"."+way.name, "%d bytes are too many, since no key has more than %d; shorten it", len(way.text), api.MaxNameBytes)
		}
	}
	switch {
	case given == 0:
		p.Add(path, "matches no key; give exact, glob or suffix")
	case given > 1:
		p.Add(path, "has %d of exact, glob and suffix; keep one, and write another entry for the other", given)
	}
	if at := match.BadEscape(m.Glob); at >= 0 {
		p.Add(path+".glob", "the \\ at byte %d is not before a *, ? or \\; write \\*, \\? or \\\\", at)
	}
	checkDomain(p, path+".suffix", m.Suffix)
}

// checkDomain refuses a suffix that no host can have.
func checkDomain(p *coord.Problems, path, domain string) {
	switch {
	case strings.HasPrefix(domain, ".") || strings.HasSuffix(domain, "."):
		p.Add(path, "%q begins or ends with a dot; write the domain alone, such as example.com", domain)
	case strings.Contains(domain, ".."):
		p.Add(path, "%q has two dots side by side; write the domain alone, such as example.com", domain)
	case strings.ContainsAny(domain, "*?"):
		p.Add(path, "%q has a wildcard, which no host has; write the domain alone, since those under it match too, or use glob", domain)
	case strings.ContainsAny(domain, "/@") || strings.ContainsFunc(domain, unicode.IsSpace):
		p.Add(path, "%q is more than a domain; write the host of it alone, such as example.com, or use glob for keys that are no hosts", domain)
	}
}

// checkUpstream checks the penalty.
func checkUpstream(p *coord.Problems, at string, it api.Rule) {
	if it.Penalty == nil {
		return
	}
	o := *it.Penalty
	for i, code := range o.Codes {
		if code < coord.MinStatus || code > coord.MaxStatus {
			p.Add(fmt.Sprintf("%spenalty.codes[%d]", at, i), "%d is no HTTP status; use %d to %d", code, coord.MinStatus, coord.MaxStatus)
		}
	}
	good := len(*p)
	checkMillis(p, at+"penalty.base_ms", o.BaseMS, coord.MaxPeriod)
	checkMillis(p, at+"penalty.max_ms", o.MaxMS, coord.MaxPeriod)
	if full := penaltyOf(&o); len(*p) == good && full.BaseMS > full.MaxMS {
		p.Add(at+"penalty.max_ms", "%d is less than base_ms, %d; raise it, or lower base_ms (absent they are %d and %d)",
			full.MaxMS, full.BaseMS, defaultPenalty.MaxMS, defaultPenalty.BaseMS)
	}
	checkMillis(p, at+"penalty.forgive_ms", o.ForgiveMS, coord.MaxPeriod)
	if n := o.JitterPercent; n != nil && (*n < 0 || *n > coord.MaxPercent) {
		p.Add(at+"penalty.jitter_percent", "%d is out of range; use 0 to %d", *n, coord.MaxPercent)
	}
}

// checkMillis checks a time that may be left out.
func checkMillis(p *coord.Problems, path string, ms int64, most time.Duration) {
	if ms < 0 || ms > most.Milliseconds() {
		p.Add(path, "%d is out of range; use 1 to %d, or leave it out", ms, most.Milliseconds())
	}
}
