package main

import (
	"math"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/config"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// ruleOptions are the rules of a configuration as coord takes them.
func ruleOptions(items []config.Rule) []coord.RuleOptions {
	rules := make([]coord.RuleOptions, len(items))
	for i, r := range items {
		rules[i] = coord.RuleOptions{
			Name: r.Name, Algorithm: r.Algorithm, Limits: bandOptions(r.Limits),
			FailMode: coord.FailMode(r.FailMode), LocalShareOf: r.LocalShareOf, DenyCache: string(r.DenyCache),
			Allow: matchOptions(r.Allow), Deny: matchOptions(r.Deny),
			Shadow: r.Shadow, MaxConcurrent: r.MaxConcurrent, HeadroomPercent: r.HeadroomPercent,
			MaxDelay: milliseconds(r.MaxDelayMS),
			Penalty:  penaltyOptions(r.Penalty),
		}
		for _, o := range r.Overrides {
			rules[i].Overrides = append(rules[i].Overrides, coord.Override{
				Match:  coord.Match{Exact: o.Exact, Glob: o.Glob, Suffix: o.Suffix},
				Limits: bandOptions(o.Limits), MaxConcurrent: o.MaxConcurrent,
			})
		}
		for _, g := range r.Groups {
			rules[i].Groups = append(rules[i].Groups, coord.Group{
				Match: coord.Match{Exact: g.Exact, Glob: g.Glob, Suffix: g.Suffix}, Name: g.Name,
			})
		}
	}
	return rules
}

func bandOptions(bands []config.Band) []coord.Band {
	out := make([]coord.Band, 0, len(bands))
	for _, b := range bands {
		out = append(out, coord.Band{Limit: b.Limit, Period: milliseconds(b.PeriodMS), Burst: b.Burst})
	}
	return out
}

func matchOptions(matches []config.Match) []coord.Match {
	out := make([]coord.Match, 0, len(matches))
	for _, m := range matches {
		out = append(out, coord.Match(m))
	}
	return out
}

func penaltyOptions(p *config.Penalty) coord.PenaltyOptions {
	if p == nil {
		return coord.PenaltyOptions{}
	}
	o := coord.PenaltyOptions{
		Codes: p.Codes, Base: milliseconds(p.BaseMS), Max: milliseconds(p.MaxMS), Forgive: milliseconds(p.ForgiveMS),
	}
	o.SetJitter(p.JitterPercent)
	return o
}

// milliseconds keeps a period that no duration can hold out of every bound, where
// multiplying it would wrap it around to a harmless one.
func milliseconds(ms int64) time.Duration {
	const most = math.MaxInt64 / int64(time.Millisecond)
	return time.Duration(max(-most, min(ms, most))) * time.Millisecond
}
