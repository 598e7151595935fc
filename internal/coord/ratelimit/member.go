package ratelimit

import (
	"fmt"
	"slices"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// This file implements coord.MemberRules: rules for the members of pools.

// MemberTerms implements MemberRules. A rule in shadow refuses nothing.
func (r *Rules) MemberTerms(name string) (coord.MemberTerms, error) {
	found, err := r.forPermits(name)
	if err != nil || found.options.Shadow {
		return coord.MemberTerms{}, err
	}
	return coord.MemberTerms{Revision: found.revision, Signature: found.signature, Overrides: found.ofMembers()}, nil
}

// MemberLimit implements MemberRules.
func (r *Rules) MemberLimit(name, member string) (coord.MemberLimit, error) {
	found, err := r.forPermits(name)
	if err != nil {
		return nil, err
	}
	return found.of(member, "").lim, nil
}

// MemberPause implements MemberRules. The pause does not double, since the member's cooldown
// grows with failures in a row. A rule that no longer exists counts as one without a penalty
// of its own.
func (r *Rules) MemberPause(name string, status int64, retryAfter time.Duration) time.Duration {
	o := r.orNone(name).upstream.penalty
	switch {
	case !slices.Contains(o.Codes, status), retryAfter < 0:
		return 0
	case retryAfter > 0:
		return retryAfter
	default:
		return min(coord.Millis(o.BaseMS)/1000*time.Duration(pauseFactor(o)), coord.Millis(o.MaxMS))
	}
}

// Label implements MemberRules. A caller can write any name, so that only the name of a rule
// in force is a label.
func (r *Rules) Label(name string) string { return r.orNone(name).label() }

// orNone is the rule of that name, or noRule if there is none.
func (r *Rules) orNone(name string) *limit {
	if name != "" {
		if found, err := r.find(name); err == nil {
			return found.limit
		}
	}
	return noRule
}

// Terms implements MemberLimit.
func (l *limit) Terms() (revision int64, signature string) { return l.revision, l.signature }

// Limits implements MemberLimit.
func (l *limit) Limits() (bands []string, shadow bool) { return l.names, l.options.Shadow }

// Answer implements MemberLimit.
func (l *limit) Answer(a coord.LimitAnswer, replayed bool) (api.RatelimitResult, error) {
	d, err := l.decision(a, replayed)
	if err != nil {
		return api.RatelimitResult{}, coord.Failed("ratelimit "+l.label()+": reply", err)
	}
	if !d.Allowed && l.options.Shadow {
		d.Allowed, d.Shadow, d.RetryAfterMS = true, true, 0
	}
	return d.RatelimitResult, nil
}

// maxMemberOverrides is how many overrides a rule for permits may have, since each
// acquisition sends all of them.
const maxMemberOverrides = 100

// forPermits finds a rule for permits of pools. The script picks the member, so that all
// overrides are sent to it, and each must name one member.
func (r *Rules) forPermits(name string) (*rule, error) {
	found, err := r.find(name)
	if err != nil {
		return nil, err
	}
	bad := func(has, remedy string) error {
		return coord.Invalid("rule: %s %s; %s, or name another rule", found.options.Name, has, remedy)
	}
	o := found.options
	switch {
	case found.algorithm.name != api.AlgorithmTokenBucket:
		err = bad("is a "+found.algorithm.name+", and a permit takes from a token_bucket", "make it one")
	case len(o.Groups) > 0:
		err = bad("has groups, and members have buckets of their own", "leave them out")
	case len(o.Allow)+len(o.Deny) > 0:
		err = bad("has lists, which permits do not use", "remove or ban the members (pool.remove, pool.ban)")
	case len(o.Overrides) > maxMemberOverrides:
		err = bad(fmt.Sprintf("has %d overrides, and at most %d go with a permit", len(o.Overrides), maxMemberOverrides), "make several pools")
	case slices.ContainsFunc(o.Overrides, func(x api.Override) bool { return x.Exact == "" }):
		err = bad("has overrides by glob or suffix, and a permit's are of single members", "write exact ones")
	}
	return found, err
}

// ofMembers lists the members that have an override, each followed by the signature of its
// bands. Of several overrides for one member the first counts.
func (r *rule) ofMembers() []string {
	var all []string
	had := make(map[string]bool, len(r.options.Overrides))
	for i, x := range r.options.Overrides {
		if !had[x.Exact] {
			had[x.Exact] = true
			all = append(all, x.Exact, r.others[i].signature)
		}
	}
	return all
}
