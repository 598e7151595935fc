package coord

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// ruleText is a rule as it is kept in Redis, in JSON, under the names that files
// have. Sidecars of several versions read it during a rollout: fields are added,
// and one that a version does not know makes the rule unreadable to it, since
// what it would enforce without the field is another rule.
type ruleText struct {
	Name            string         `json:"name"`
	Algorithm       string         `json:"algorithm"`
	Limits          []bandText     `json:"limits"`
	FailMode        FailMode       `json:"fail_mode,omitempty"`
	LocalShareOf    int64          `json:"local_share_of,omitempty"`
	DenyCache       string         `json:"deny_cache,omitempty"`
	Overrides       []overrideText `json:"overrides,omitempty"`
	Allow           []matchText    `json:"allow,omitempty"`
	Deny            []matchText    `json:"deny,omitempty"`
	Groups          []groupText    `json:"groups,omitempty"`
	Shadow          bool           `json:"shadow,omitempty"`
	MaxConcurrent   int64          `json:"max_concurrent,omitempty"`
	HeadroomPercent int64          `json:"headroom_percent,omitempty"`
	MaxDelayMS      int64          `json:"max_delay_ms,omitempty"`
	Penalty         *penaltyText   `json:"penalty,omitempty"`
}

type bandText struct {
	Limit    int64 `json:"limit"`
	PeriodMS int64 `json:"period_ms"`
	Burst    int64 `json:"burst,omitempty"`
}

type matchText struct {
	Exact  string `json:"exact,omitempty"`
	Glob   string `json:"glob,omitempty"`
	Suffix string `json:"suffix,omitempty"`
}

type overrideText struct {
	matchText
	Limits        []bandText `json:"limits,omitempty"`
	MaxConcurrent int64      `json:"max_concurrent,omitempty"`
}

type groupText struct {
	matchText
	Name string `json:"name,omitempty"`
}

type penaltyText struct {
	Codes         []int64 `json:"codes,omitempty"`
	BaseMS        int64   `json:"base_ms,omitempty"`
	MaxMS         int64   `json:"max_ms,omitempty"`
	ForgiveMS     int64   `json:"forgive_ms,omitempty"`
	JitterPercent *int64  `json:"jitter_percent,omitempty"` // 0 is not its absence
}

// maxRuleText bounds the text of a rule, in bytes: all of them come in one reply.
const maxRuleText = 64 << 10

// textOf is the rule, which was checked, as it is kept. Equal rules have equal
// texts. Its error is the caller's.
func textOf(o RuleOptions) (string, error) {
	for _, text := range o.texts() {
		if !utf8.ValidString(text) {
			return "", invalid("rule: %q is not UTF-8, which is all that can be kept in redis; match such keys by a glob with ?", text)
		}
	}
	t := ruleText{
		Name: o.Name, Algorithm: o.Algorithm, Limits: bandTexts(o.Limits),
		FailMode: o.FailMode, LocalShareOf: o.LocalShareOf, DenyCache: o.DenyCache,
		Allow: matchTexts(o.Allow), Deny: matchTexts(o.Deny),
		Shadow: o.Shadow, MaxConcurrent: o.MaxConcurrent, HeadroomPercent: o.HeadroomPercent,
		MaxDelayMS: o.MaxDelay.Milliseconds(),
	}
	for _, x := range o.Overrides {
		t.Overrides = append(t.Overrides, overrideText{matchText(x.Match), bandTexts(x.Limits), x.MaxConcurrent})
	}
	for _, g := range o.Groups {
		t.Groups = append(t.Groups, groupText{matchText(g.Match), g.Name})
	}
	if p := o.Penalty; !p.IsZero() {
		t.Penalty = &penaltyText{
			Codes: p.Codes, BaseMS: p.Base.Milliseconds(), MaxMS: p.Max.Milliseconds(), ForgiveMS: p.Forgive.Milliseconds(),
		}
		if percent, given := p.Jitter(); given {
			t.Penalty.JitterPercent = &percent
		}
	}
	b, err := json.Marshal(t)
	if err == nil && len(b) > maxRuleText {
		return "", invalid("rule: has %d bytes as text, more than %d; keep a rule with so long lists in a file", len(b), maxRuleText)
	}
	return string(b), err
}

// texts are those that may be any bytes.
func (o RuleOptions) texts() []string {
	var all []string
	add := func(m Match, more ...string) { all = append(append(all, m.Exact, m.Glob, m.Suffix), more...) }
	for _, m := range slices.Concat(o.Allow, o.Deny) {
		add(m)
	}
	for _, x := range o.Overrides {
		add(x.Match)
	}
	for _, g := range o.Groups {
		add(g.Match, g.Name)
	}
	return all
}

func bandTexts(bands []Band) []bandText {
	var out []bandText
	for _, b := range bands {
		out = append(out, bandText{b.Limit, b.Period.Milliseconds(), b.Burst})
	}
	return out
}

func matchTexts(all []Match) []matchText {
	var out []matchText
	for _, m := range all {
		out = append(out, matchText(m))
	}
	return out
}

// readRule reads what is kept under a name. Its error is that it is no rule for
// this version.
func readRule(name, text string) (RuleOptions, error) {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	var t ruleText
	if err := d.Decode(&t); err != nil {
		return RuleOptions{}, err
	}
	if d.More() || t.Name != name {
		return RuleOptions{}, fmt.Errorf("it is not the text of one rule of that name")
	}
	o := RuleOptions{
		Name: t.Name, Algorithm: t.Algorithm, Limits: readBands(t.Limits),
		FailMode: t.FailMode, LocalShareOf: t.LocalShareOf, DenyCache: t.DenyCache,
		Allow: readMatches(t.Allow), Deny: readMatches(t.Deny),
		Shadow: t.Shadow, MaxConcurrent: t.MaxConcurrent, HeadroomPercent: t.HeadroomPercent,
		MaxDelay: millis(t.MaxDelayMS),
	}
	for _, x := range t.Overrides {
		o.Overrides = append(o.Overrides, Override{Match(x.matchText), readBands(x.Limits), x.MaxConcurrent})
	}
	for _, g := range t.Groups {
		o.Groups = append(o.Groups, Group{Match(g.matchText), g.Name})
	}
	if p := t.Penalty; p != nil {
		o.Penalty = PenaltyOptions{Codes: p.Codes, Base: millis(p.BaseMS), Max: millis(p.MaxMS), Forgive: millis(p.ForgiveMS)}
		o.Penalty.SetJitter(p.JitterPercent)
	}
	if p := CheckRules([]RuleOptions{o}); p != nil {
		return RuleOptions{}, p
	}
	return o, nil
}

func readBands(bands []bandText) []Band {
	var out []Band
	for _, b := range bands {
		out = append(out, Band{b.Limit, millis(b.PeriodMS), b.Burst})
	}
	return out
}

func readMatches(all []matchText) []Match {
	var out []Match
	for _, m := range all {
		out = append(out, Match(m))
	}
	return out
}

// millis is a duration out of every bound where multiplying would wrap around to
// a harmless one.
func millis(ms int64) time.Duration {
	const most = int64(1<<63-1) / int64(time.Millisecond)
	return time.Duration(max(-most, min(ms, most))) * time.Millisecond
}

// SetJitter sets JitterPercent as users write it: nil = as by default, 0 = none.
func (p *PenaltyOptions) SetJitter(percent *int64) {
	switch {
	case percent == nil:
		p.JitterPercent = 0
	case *percent <= 0:
		p.JitterPercent = *percent - 1
	default:
		p.JitterPercent = *percent
	}
}

// Jitter is JitterPercent as users write it, if it is given.
func (p PenaltyOptions) Jitter() (percent int64, given bool) {
	if p.JitterPercent < 0 {
		return p.JitterPercent + 1, true
	}
	return p.JitterPercent, p.JitterPercent != 0
}

// IsZero reports whether nothing of it was given.
func (p PenaltyOptions) IsZero() bool {
	return len(p.Codes) == 0 && p.Base == 0 && p.Max == 0 && p.Forgive == 0 && p.JitterPercent == 0
}

// Plain is the rule without what says the same as its absence, so that two ways
// to write one rule compare equal.
func (o RuleOptions) Plain() RuleOptions {
	if o.FailMode == FailOpen {
		o.FailMode = ""
	}
	if o.LocalShareOf == 1 {
		o.LocalShareOf = 0
	}
	if o.DenyCache == "on" {
		o.DenyCache = ""
	}
	if o.MaxDelay == time.Minute {
		o.MaxDelay = 0
	}
	o.Limits = plainBands(o.Algorithm, o.Limits)
	o.Overrides = slices.Clone(o.Overrides)
	for i := range o.Overrides {
		o.Overrides[i].Limits = plainBands(o.Algorithm, o.Overrides[i].Limits)
	}
	o.Penalty = o.Penalty.plain()
	return o
}

// plainBands also sorts them, as their order means nothing.
func plainBands(algorithm string, bands []Band) []Band {
	out := slices.Clone(bands)
	for i, b := range out {
		if b.Limit == 0 || algorithm == api.AlgorithmTokenBucket && b.Burst == b.Limit || algorithm == api.AlgorithmLeakyBucket && b.Burst == 1 {
			out[i].Burst = 0
		}
	}
	slices.SortFunc(out, func(a, b Band) int { return cmp.Compare(a.Period, b.Period) })
	return out
}

func (p PenaltyOptions) plain() PenaltyOptions {
	d := DefaultPenalty
	if slices.Equal(p.Codes, d.Codes) {
		p.Codes = nil
	}
	if p.Base == d.Base {
		p.Base = 0
	}
	if p.Max == d.Max {
		p.Max = 0
	}
	if p.Forgive == d.Forgive {
		p.Forgive = 0
	}
	if p.JitterPercent == d.JitterPercent {
		p.JitterPercent = 0
	}
	return p
}
