package ratelimit

import (
	"cmp"
	"slices"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// defaultMaxDelayMS is the default of max_delay_ms.
const defaultMaxDelayMS = 60_000

// defaultPenalty is the penalty of a rule that gives none.
var defaultPenalty = api.Penalty{
	Codes: []int64{429, 503}, BaseMS: 60_000, MaxMS: 86_400_000, ForgiveMS: 1_800_000, JitterPercent: new(int64),
}

func init() { *defaultPenalty.JitterPercent = 10 }

// penaltyOf fills in the defaults of a penalty.
func penaltyOf(p *api.Penalty) api.Penalty {
	if p == nil {
		return defaultPenalty
	}
	o, d := *p, defaultPenalty
	if len(o.Codes) == 0 {
		o.Codes = d.Codes
	}
	o.BaseMS, o.MaxMS, o.ForgiveMS = cmp.Or(o.BaseMS, d.BaseMS), cmp.Or(o.MaxMS, d.MaxMS), cmp.Or(o.ForgiveMS, d.ForgiveMS)
	o.JitterPercent = cmp.Or(o.JitterPercent, d.JitterPercent)
	return o
}

// PlainRule returns a rule without the fields that are equal to their defaults, so that two ways
// to write the same rule compare equal.
func PlainRule(o api.Rule) api.Rule {
	if o.FailMode == string(coord.FailOpen) {
		o.FailMode = ""
	}
	if o.LocalShareOf == 1 {
		o.LocalShareOf = 0
	}
	if o.DenyCache == "on" {
		o.DenyCache = ""
	}
	if o.MaxDelayMS == defaultMaxDelayMS {
		o.MaxDelayMS = 0
	}
	o.Limits = plainBands(o.Algorithm, o.Limits)
	o.Overrides = slices.Clone(o.Overrides)
	for i := range o.Overrides {
		o.Overrides[i].Limits = plainBands(o.Algorithm, o.Overrides[i].Limits)
	}
	o.Penalty = plainPenalty(o.Penalty)
	o.Lease = plainLease(o.Mode, o.Lease)
	if o.Mode == modeExact {
		o.Mode = ""
	}
	return o
}

// plainBands removes bursts that are equal to their default, and sorts the bands by period, as
// their order has no meaning.
func plainBands(algorithm string, bands []api.Band) []api.Band {
	out := slices.Clone(bands)
	by := algorithmNamed(algorithm)
	for i, b := range out {
		if by.plain(b) {
			out[i].Burst = 0
		}
	}
	slices.SortFunc(out, func(a, b api.Band) int { return cmp.Compare(a.PeriodMS, b.PeriodMS) })
	return out
}

// plainPenalty removes the fields that are equal to their defaults; nil = none is left.
func plainPenalty(p *api.Penalty) *api.Penalty {
	if p == nil {
		return nil
	}
	o, d := *p, defaultPenalty
	if slices.Equal(o.Codes, d.Codes) {
		o.Codes = nil
	}
	if o.BaseMS == d.BaseMS {
		o.BaseMS = 0
	}
	if o.MaxMS == d.MaxMS {
		o.MaxMS = 0
	}
	if o.ForgiveMS == d.ForgiveMS {
		o.ForgiveMS = 0
	}
	if o.JitterPercent != nil && *o.JitterPercent == *d.JitterPercent {
		o.JitterPercent = nil
	}
	if NoPenalty(&o) {
		return nil
	}
	return &o
}

// NoPenalty reports whether a penalty sets no field.
func NoPenalty(p *api.Penalty) bool {
	return p == nil || len(p.Codes) == 0 && p.BaseMS == 0 && p.MaxMS == 0 && p.ForgiveMS == 0 && p.JitterPercent == nil
}
