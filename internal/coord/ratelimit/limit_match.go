package ratelimit

import (
	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/match"
)

// rule is a compiled rule: the limits of all its keys.
type rule struct {
	*limit // of keys without an override

	deny, allow, groups, overrides match.Matcher

	counts []string // the name that each group counts under
	others []*limit // the limit of each override
	plain  bool     // the rule has no lists, groups or overrides
}

// compileRule compiles a rule that was checked.
func compileRule(o api.Rule, revision int64) *rule {
	r := &rule{
		limit: compile(o, revision),
		deny:  match.New(o.Deny), allow: match.New(o.Allow),
		plain: len(o.Deny)+len(o.Allow)+len(o.Groups)+len(o.Overrides) == 0,
	}
	for i, g := range o.Groups {
		r.groups.Add(i, api.Match{Exact: g.Exact, Glob: g.Glob, Suffix: g.Suffix})
		name := g.Name
		if name == "" {
			name = match.ASCII(match.Lower(g.Suffix))
		}
		r.counts = append(r.counts, name)
	}
	for i, x := range o.Overrides {
		r.overrides.Add(i, overridden(x))
		other := o
		if len(x.Limits) > 0 {
			other.Limits = x.Limits
		}
		if x.MaxConcurrent > 0 {
			other.MaxConcurrent = x.MaxConcurrent
		}
		r.others = append(r.others, compile(other, revision))
	}
	return r
}

// overridden returns the keys that an override applies to.
func overridden(x api.Override) api.Match {
	return api.Match{Exact: x.Exact, Glob: x.Glob, Suffix: x.Suffix}
}

// target is the limit that a call is charged to, and the name under which it counts.
type target struct {
	lim *limit
	// counted is the name that the state is kept under: the group, or the key.
	counted string
	// list is the list of the rule that has the key, if any; it alone decides then.
	list string
	// override is the index of the override that applies, -1 = none.
	override int
}

// The lists of a rule.
const (
	listAllow = "allow"
	listDeny  = "deny"
)

// of returns the target of a key, with the group that the caller gave, if any.
func (r *rule) of(key, group string) target {
	t := target{lim: r.limit, counted: key, override: -1}
	if group != "" {
		t.counted = group
	}
	if r.plain {
		return t
	}
	switch {
	case r.deny.First(key) >= 0:
		t.list = listDeny
	case r.allow.First(key) >= 0:
		t.list = listAllow
	}
	if group == "" {
		if i := r.groups.First(key); i >= 0 {
			t.counted = r.counts[i]
		}
	}
	if t.override = r.overrides.First(t.counted); t.override >= 0 {
		t.lim = r.others[t.override]
	}
	return t
}
