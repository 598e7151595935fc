package breaker

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync/atomic"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/match"
	"github.com/coxswain-sidecar/coxswain/internal/nearest"
)

// DefaultPolicy applies to breakers that no other policy is for, and has the defaults of the fields that a policy
// leaves out, with two exceptions: HalfOpenMax then is the policy's own SuccessThreshold, and OpenMaxMS is at least
// its own OpenMS.
var DefaultPolicy = api.BreakerPolicy{
	Name: "default", FailureThreshold: 3, SuccessThreshold: 3, OpenMS: 600_000, OpenMaxMS: 3_600_000, HalfOpenMax: 3,
	ProbeTTLMS: 60_000, FailMode: string(coord.FailOpen),
}

const (
	// minProbeTTLMS is the smallest ProbeTTLMS.
	minProbeTTLMS = 100
	// defaultMinCalls is the MinCalls of a window that leaves it out.
	defaultMinCalls = 10
)

// Policy is a policy with all defaults filled in. Find returns the zero value with an error.
type Policy struct {
	api.BreakerPolicy
	numbers string // the text without the jitter
}

func compile(o api.BreakerPolicy) Policy {
	d, w := DefaultPolicy, api.BreakerWindow{}
	o.FailureThreshold = cmp.Or(o.FailureThreshold, d.FailureThreshold)
	o.SuccessThreshold = cmp.Or(o.SuccessThreshold, d.SuccessThreshold)
	o.OpenMS = cmp.Or(o.OpenMS, d.OpenMS)
	o.OpenMaxMS = cmp.Or(o.OpenMaxMS, max(d.OpenMaxMS, o.OpenMS))
	o.HalfOpenMax = cmp.Or(o.HalfOpenMax, o.SuccessThreshold)
	o.ProbeTTLMS = cmp.Or(o.ProbeTTLMS, d.ProbeTTLMS)
	o.FailMode = cmp.Or(o.FailMode, d.FailMode)
	if o.Window != nil {
		w = *o.Window
	}
	if w.WindowMS > 0 {
		w.MinCalls = cmp.Or(w.MinCalls, defaultMinCalls)
	}
	o.Window = &w
	return Policy{o, fmt.Sprintf("%d %d %d %d %d %d %d %d %d %d %d ",
		o.FailureThreshold, o.SuccessThreshold, o.OpenMS*1000, o.OpenMaxMS*1000, o.HalfOpenMax, o.ProbeTTLMS*1000,
		w.WindowMS*1000, w.MinCalls, w.FailureRate, w.SlowMS*1000, w.SlowRate)}
}

// text is the policy as the scripts read it (lib/breaker.lua), with times in
// microseconds.
func (p Policy) text() string { return p.numbers + fmt.Sprint(jitter()) }

// jitter is a random factor for the time of an opening, in thousandths: 5 % to
// either side, so that breakers that opened together do not all probe together.
func jitter() int64 { return 950 + rand.Int64N(101) }

// Policies are the policies in force. They are replaced as a whole.
type Policies struct{ set atomic.Pointer[policySet] }

type policySet struct {
	policies []Policy
	names    match.Matcher
	byName   map[string]int
	revision int64
}

var defaultPolicy = compile(DefaultPolicy)

// NewPolicies returns policies with the default alone.
func NewPolicies() *Policies {
	p := &Policies{}
	p.set.Store(&policySet{})
	return p
}

// Set validates all policies and then puts them in force together, or changes
// nothing and returns Problems whose paths start with items[i].
func (p *Policies) Set(items []api.BreakerPolicy) error {
	if problems := CheckPolicies(items); problems != nil {
		return problems
	}
	s := &policySet{byName: make(map[string]int, len(items)), revision: p.set.Load().revision + 1}
	for i, o := range items {
		s.policies = append(s.policies, compile(o))
		s.byName[o.Name] = i
		if strings.ContainsAny(o.Name, `*?\`) {
			s.names.Add(i, api.Match{Glob: o.Name})
		} else {
			s.names.Add(i, api.Match{Exact: o.Name})
		}
	}
	p.set.Store(s)
	return nil
}

// revision returns a number that changes with every Set.
func (p *Policies) revision() int64 { return p.set.Load().revision }

// Find returns the policy of that name. If the name is empty, it returns the first policy whose name matches the
// breaker's (with a pool, the pool's), or else the default. The error is NotFound.
func (p *Policies) Find(policy, name string) (Policy, error) {
	return p.find("policy", policy, name)
}

// find is Find for a call whose parameter field names the policy.
func (p *Policies) find(field, policy, name string) (Policy, error) {
	s := p.set.Load()
	if policy == "" {
		if i := s.names.First(name); i >= 0 {
			return s.policies[i], nil
		}
		return defaultPolicy, nil
	}
	if i, ok := s.byName[policy]; ok {
		return s.policies[i], nil
	}
	if policy == DefaultPolicy.Name {
		return defaultPolicy, nil
	}
	names := []string{DefaultPolicy.Name}
	for _, x := range s.policies {
		names = append(names, x.Name)
	}
	if near, ok := nearest.Name(policy, names); ok {
		return Policy{}, coord.NotFound("%s: there is no breaker policy %q; did you mean %q?", field, policy, near)
	}
	return Policy{}, coord.NotFound("%s: there is no breaker policy %q; add it to breakers.items, or leave %s out", field, policy, field)
}

// CheckPolicies returns every mistake in the policies, with paths that start with items[i].
func CheckPolicies(items []api.BreakerPolicy) coord.Problems {
	var p coord.Problems
	first := make(map[string]int, len(items))
	for i, o := range items {
		at := fmt.Sprintf("items[%d].", i)
		j, dup := first[o.Name]
		switch {
		case o.Name == "":
			p.Add(at+"name", "missing; give the name of the breakers that it is for, or a glob of them such as *.example.com")
		case o.Name == DefaultPolicy.Name:
			p.Add(at+"name", "%q is the policy of breakers that no other is for; write * as the last item to be another one", o.Name)
		case dup:
			p.Add(at+"name", "%q is also the name of items[%d]; give each policy its own name", o.Name, j)
		default:
			first[o.Name] = i
			p.AddName(at+"name", o.Name)
		}
		if bad := match.BadEscape(o.Name); bad >= 0 {
			p.Add(at+"name", "the \\ at byte %d stands before nothing that it could take the meaning from; write \\*, \\? or \\\\", bad)
		}
		checkPolicy(&p, at, o)
		if w := o.Window; w != nil && *w != (api.BreakerWindow{}) {
			checkWindow(&p, at+"window.", *w)
		}
	}
	return p
}

func checkPolicy(p *coord.Problems, at string, o api.BreakerPolicy) {
	p.AddBounds(at, o)
	if full := compile(o); o.OpenMaxMS >= 0 && full.OpenMaxMS < full.OpenMS {
		p.Add(at+"open_max_ms", "%d is less than open_ms, %d; raise it, or leave it out", full.OpenMaxMS, full.OpenMS)
	}
	if o.ProbeTTLMS > 0 && o.ProbeTTLMS < minProbeTTLMS {
		p.Add(at+"probe_ttl_ms", "%d is out of range; use %d to %d: a probe has to last as long as the call that it is",
			o.ProbeTTLMS, minProbeTTLMS, bounds(o, "probe_ttl_ms").Max)
	}
	if m := coord.FailMode(o.FailMode); m == coord.FailLocal {
		p.Add(at+"fail_mode", "%q is not for breakers, whose state is in Redis alone; use closed or open", m)
	} else if mistake := m.Mistake(); mistake != "" {
		p.Add(at+"fail_mode", "%s", mistake)
	}
}

func checkWindow(p *coord.Problems, at string, w api.BreakerWindow) {
	p.AddBounds(at, w)
	if b := bounds(w, "window_ms"); w.WindowMS >= 0 && w.WindowMS < b.Min {
		p.Add(at+"window_ms", "%d is out of range; use %d to %d", w.WindowMS, b.Min, b.Max)
	}
	switch {
	case w.FailureRate == 0 && w.SlowRate == 0:
		p.Add(at+"failure_rate", "missing, and so is slow_rate: the window would open nothing; give one of them in percent, or remove it")
	case w.SlowRate > 0 && w.SlowMS == 0:
		p.Add(at+"slow_ms", "missing; give the milliseconds from which on a call is slow, or remove slow_rate")
	case w.SlowMS > 0 && w.SlowRate == 0:
		p.Add(at+"slow_rate", "missing; give the percent of slow calls that opens it, or remove slow_ms")
	}
}

// bounds returns the field of that name, with its bounds, of a struct of the contract.
func bounds(of any, name string) api.Field {
	t := reflect.TypeOf(of)
	return api.Fields(t)[coord.ParamAt(t, name)]
}
