package coord

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/nearest"
)

// BreakerOptions are a policy as users write it. Zero values are those of
// DefaultBreaker.
type BreakerOptions struct {
	// Name is the breaker that it is for (with a pool, the pool), or a glob of them.
	Name string
	// FailureThreshold failures in a row open it, SuccessThreshold successes of
	// probes close it.
	FailureThreshold, SuccessThreshold int64
	// Open is how long it is open, twice as long each time in a row, up to OpenMax.
	Open, OpenMax time.Duration
	// HalfOpenMax is how many probes are out at once; 0 = SuccessThreshold.
	HalfOpenMax int64
	// ProbeTTL is after how long a probe is lost that nobody reports on.
	ProbeTTL time.Duration
	Window   BreakerWindow // the zero one is none
	FailMode FailMode      // closed or open; empty = open
}

// BreakerWindow is a rolling window of calls, whose rates open a breaker too.
type BreakerWindow struct {
	Length   time.Duration // 0 = none
	MinCalls int64         // fewer of them say nothing; 0 = 10
	// FailureRate and SlowRate open it, in percent of the calls; 0 = that one does not.
	FailureRate, SlowRate int64
	Slow                  time.Duration // what takes as long is slow
}

// DefaultBreaker is the policy of what no other is for, and what a policy is
// where it says nothing. Its OpenMax is at least a policy's own Open.
var DefaultBreaker = BreakerOptions{
	Name: "default", FailureThreshold: 3, SuccessThreshold: 3, Open: 10 * time.Minute, OpenMax: time.Hour, HalfOpenMax: 3,
	ProbeTTL: time.Minute, FailMode: FailOpen,
}

// The bounds of a policy. The longest time leaves its microseconds exact in
// scripts, times the jitter.
const (
	maxThreshold   = 1_000_000
	maxProbes      = 1000
	maxOpen        = 30 * 24 * time.Hour
	maxProbeTTL    = 24 * time.Hour
	minWindow      = 100 * time.Millisecond
	maxWindow      = 24 * time.Hour
	maxBreakerCall = 24 * time.Hour
	defaultMinimum = 10
)

// BreakerPolicy is a policy made ready. The zero one is none: see Find.
type BreakerPolicy struct {
	BreakerOptions
	numbers string // all of text but the jitter
}

func compileBreaker(o BreakerOptions) BreakerPolicy {
	d, w := DefaultBreaker, o.Window
	o.FailureThreshold = cmp.Or(o.FailureThreshold, d.FailureThreshold)
	o.SuccessThreshold = cmp.Or(o.SuccessThreshold, d.SuccessThreshold)
	o.Open = cmp.Or(o.Open, d.Open)
	o.OpenMax = cmp.Or(o.OpenMax, max(d.OpenMax, o.Open))
	o.HalfOpenMax = cmp.Or(o.HalfOpenMax, o.SuccessThreshold)
	o.ProbeTTL = cmp.Or(o.ProbeTTL, d.ProbeTTL)
	o.FailMode = o.FailMode.or(d.FailMode)
	if w.Length > 0 {
		w.MinCalls = cmp.Or(w.MinCalls, defaultMinimum)
	}
	o.Window = w
	return BreakerPolicy{o, fmt.Sprintf("%d %d %d %d %d %d %d %d %d %d %d ",
		o.FailureThreshold, o.SuccessThreshold, o.Open.Microseconds(), o.OpenMax.Microseconds(), o.HalfOpenMax, o.ProbeTTL.Microseconds(),
		w.Length.Microseconds(), w.MinCalls, w.FailureRate, w.Slow.Microseconds(), w.SlowRate)}
}

// text is the policy as the scripts read it (prelude_breaker.lua). Each has a
// jitter of its own, 5 % to either side, so that breakers that opened together do
// not all probe together.
func (p BreakerPolicy) text() string { return p.numbers + fmt.Sprint(950+rand.N(101)) }

// BreakerPolicies are the policies in force. They are replaced as a whole.
type BreakerPolicies struct{ set atomic.Pointer[breakerSet] }

type breakerSet struct {
	policies []BreakerPolicy
	names    matcher
	byName   map[string]int
	revision int64
}

var defaultBreaker = compileBreaker(DefaultBreaker)

// NewBreakerPolicies starts with the default alone.
func NewBreakerPolicies() *BreakerPolicies {
	p := &BreakerPolicies{}
	p.set.Store(&breakerSet{})
	return p
}

// Set validates all policies and then puts them in force together, or changes
// nothing and returns Problems whose paths start with items[i].
func (p *BreakerPolicies) Set(items []BreakerOptions) error {
	if problems := CheckBreakers(items); problems != nil {
		return problems
	}
	s := &breakerSet{byName: make(map[string]int, len(items)), revision: p.set.Load().revision + 1}
	for i, o := range items {
		s.policies = append(s.policies, compileBreaker(o))
		s.byName[o.Name] = i
		if strings.ContainsAny(o.Name, `*?\`) {
			s.names.add(i, api.Match{Glob: o.Name})
		} else {
			s.names.add(i, api.Match{Exact: o.Name})
		}
	}
	p.set.Store(s)
	return nil
}

// revision changes with every set.
func (p *BreakerPolicies) revision() int64 { return p.set.Load().revision }

// Find is the policy of that name; with an empty one the first whose name matches
// the breaker's (with a pool, the pool's), else the default. The error is NotFound.
func (p *BreakerPolicies) Find(policy, name string) (BreakerPolicy, error) {
	s := p.set.Load()
	if policy == "" {
		if i := s.names.first(name); i >= 0 {
			return s.policies[i], nil
		}
		return defaultBreaker, nil
	}
	if i, ok := s.byName[policy]; ok {
		return s.policies[i], nil
	}
	if policy == DefaultBreaker.Name {
		return defaultBreaker, nil
	}
	names := []string{DefaultBreaker.Name}
	for _, x := range s.policies {
		names = append(names, x.Name)
	}
	if near, ok := nearest.Name(policy, names); ok {
		return BreakerPolicy{}, notFound("policy: there is no breaker policy %q; did you mean %q?", policy, near)
	}
	return BreakerPolicy{}, notFound("policy: there is no breaker policy %q; add it to breakers.items, or leave policy out", policy)
}

// CheckBreakers returns every mistake in the policies, with paths that start with items[i].
func CheckBreakers(items []BreakerOptions) Problems {
	var p Problems
	first := make(map[string]int, len(items))
	for i, o := range items {
		at := fmt.Sprintf("items[%d].", i)
		j, dup := first[o.Name]
		switch {
		case o.Name == "":
			p.add(at+"name", "missing; give the name of the breakers that it is for, or a glob of them such as *.example.com")
		case o.Name == DefaultBreaker.Name:
			p.add(at+"name", "%q is the policy of breakers that no other is for; write * as the last item to be another one", o.Name)
		case dup:
			p.add(at+"name", "%q is also the name of items[%d]; give each policy its own name", o.Name, j)
		default:
			first[o.Name] = i
			p.checkRuleName(at+"name", o.Name)
		}
		if bad := badEscape(o.Name); bad >= 0 {
			p.add(at+"name", "the \\ at byte %d stands before nothing that it could take the meaning from; write \\*, \\? or \\\\", bad)
		}
		p.checkBreaker(at, o)
		p.checkBreakerWindow(at+"window.", o.Window)
	}
	return p
}

func (p *Problems) checkBreaker(at string, o BreakerOptions) {
	p.checkCount(at+"failure_threshold", o.FailureThreshold, maxThreshold)
	p.checkCount(at+"success_threshold", o.SuccessThreshold, maxProbes)
	p.checkCount(at+"half_open_max", o.HalfOpenMax, maxProbes)
	good := len(*p)
	p.checkSpan(at+"open_ms", o.Open, maxOpen)
	p.checkSpan(at+"open_max_ms", o.OpenMax, maxOpen)
	if full := compileBreaker(o); len(*p) == good && full.OpenMax < full.Open {
		p.add(at+"open_max_ms", "%d is less than open_ms, %d; raise it, or leave it out", full.OpenMax.Milliseconds(), full.Open.Milliseconds())
	}
	p.checkSpan(at+"probe_ttl_ms", o.ProbeTTL, maxProbeTTL)
	if o.ProbeTTL > 0 && o.ProbeTTL < minLockTTL {
		p.add(at+"probe_ttl_ms", "%d is out of range; use %d to %d: a probe has to last as long as the call that it is",
			o.ProbeTTL.Milliseconds(), minLockTTL.Milliseconds(), maxProbeTTL.Milliseconds())
	}
	if o.FailMode == FailLocal {
		p.add(at+"fail_mode", "%q is not for breakers, whose state is in Redis alone; use closed or open", o.FailMode)
	} else if m := o.FailMode.mistake(); m != "" {
		p.add(at+"fail_mode", "%s", m)
	}
}

func (p *Problems) checkBreakerWindow(at string, w BreakerWindow) {
	if w == (BreakerWindow{}) {
		return
	}
	p.checkSpan(at+"window_ms", w.Length, maxWindow)
	if w.Length >= 0 && w.Length < minWindow {
		p.add(at+"window_ms", "%d is out of range; use %d to %d", w.Length.Milliseconds(), minWindow.Milliseconds(), maxWindow.Milliseconds())
	}
	p.checkCount(at+"min_calls", w.MinCalls, maxThreshold)
	p.checkPercent(at+"failure_rate", w.FailureRate)
	p.checkPercent(at+"slow_rate", w.SlowRate)
	p.checkSpan(at+"slow_ms", w.Slow, maxBreakerCall)
	switch {
	case w.FailureRate == 0 && w.SlowRate == 0:
		p.add(at+"failure_rate", "missing, and so is slow_rate: the window would open nothing; give one of them in percent, or remove it")
	case w.SlowRate > 0 && w.Slow == 0:
		p.add(at+"slow_ms", "missing; give the milliseconds from which on a call is slow, or remove slow_rate")
	case w.Slow > 0 && w.SlowRate == 0:
		p.add(at+"slow_rate", "missing; give the percent of slow calls that opens it, or remove slow_ms")
	}
}

func (p *Problems) checkCount(path string, n, most int64) {
	if n < 0 || n > most {
		p.add(path, "%d is out of range; use 1 to %d, or leave it out", n, most)
	}
}

func (p *Problems) checkPercent(path string, n int64) {
	if n < 0 || n > maxPercent {
		p.add(path, "%d is out of range; use 1 to %d percent, or leave it out", n, maxPercent)
	}
}
