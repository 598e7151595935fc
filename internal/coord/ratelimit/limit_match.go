package ratelimit

import (
	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/match"
)

// rule is a rule made ready: the limit that it is for each key.
type rule struct {
	*limit // of keys that no override is for

	deny, allow, groups, overrides match.Matcher

	counts []string // what each group counts under
	others []*limit // of each override
	plain  bool     // all keys are alike
}

// compileRule makes a rule that was checked.
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

// overridden are the keys that an override is for.
func overridden(x api.Override) api.Match {
	return api.Match{Exact: x.Exact, Glob: x.Glob, Suffix: x.Suffix}
}

// target is the limit that a call is charged to, and the name under which it counts.
type target struct {
	lim *limit
	// counted is what the state is kept under: the group, or the key.
	counted string
	// list is which list of the rule has the key, and then nothing else counts.
	list string
	// override is the place of the one that counts, -1 = none.
	override int
}

// The lists of a rule.
const (
	listAllow = "allow"
	listDeny  = "deny"
)

// of is the target of a key and the group that the caller put it into, if any.
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
