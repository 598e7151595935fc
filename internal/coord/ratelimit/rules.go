package ratelimit

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/nearest"
)

// Rules has the set of rules in force: those of files, merged with those that are kept in Redis
// for every sidecar. The set is replaced as a whole.
type Rules struct {
	set atomic.Pointer[map[string]*rule]
	// expected is closed after the first read of the rules in Redis, whether it succeeded or
	// not; nil = no call has to wait for it.
	expected atomic.Pointer[chan struct{}]

	mu sync.Mutex // guards the fields below; held while a set is made of them
	// files are the rules of files by name; revision is the revision of all of them.
	files    map[string]api.Rule
	revision int64
	// kept are the rules in Redis by name, deleted ones included.
	kept       map[string]keptRule
	precedence Precedence
	changed    []func(map[string]*rule)
}

// Precedence determines which of two rules of the same name is in force.
type Precedence string

// The precedences.
const (
	PrecedenceFile  Precedence = "file"  // the one of a file
	PrecedenceRedis Precedence = "redis" // the one in Redis
)

// keptRule is a rule in Redis.
type keptRule struct {
	options  api.Rule
	revision int64
	// absent: the rule cannot be in force, since it was deleted, or this version cannot read
	// it (unreadable). Its revision counts nevertheless.
	absent, unreadable bool
}

// Methods returns the methods that only read rules; RuntimeRules has those that change them.
func (r *Rules) Methods() []coord.Method {
	return []coord.Method{coord.On(api.RatelimitRules, r.All, limited)}
}

// NewRules returns an empty set, in which rules of files take precedence.
func NewRules() *Rules {
	r := &Rules{precedence: PrecedenceFile}
	r.set.Store(&map[string]*rule{})
	return r
}

// Set checks all rules of files, and puts them in force together. If there are mistakes, it
// changes nothing, and returns Problems whose paths start with items[i]. revision orders
// versions of the set across pods: the file's modification time in Unix milliseconds.
func (r *Rules) Set(items []api.Rule, revision int64) error {
	return r.SetFirst(items, revision, "")
}

// SetFirst is Set that also sets the precedence; empty = unchanged.
func (r *Rules) SetFirst(items []api.Rule, revision int64, first Precedence) error {
	if p := CheckRules(items); p != nil {
		return p
	}
	files := make(map[string]api.Rule, len(items))
	for _, it := range items {
		files[it.Name] = it
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if first != "" {
		r.precedence = first
	}
	r.files, r.revision = files, revision
	r.merge()
	return nil
}

// keep sets the rules that are in Redis.
func (r *Rules) keep(kept map[string]keptRule) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = kept
	r.merge()
}

// merge makes the set in force. It needs r.mu.
func (r *Rules) merge() {
	set := make(map[string]*rule, len(r.files)+len(r.kept))
	for name, o := range r.files {
		if !r.hidden(name, SourceFile) {
			set[name] = compileRule(o, r.ordered(name))
		}
	}
	for name, k := range r.kept {
		if !k.absent && !r.hidden(name, coord.SourceRedis) {
			set[name] = compileRule(k.options, r.ordered(name))
		}
	}
	r.set.Store(&set)
	for _, f := range r.changed {
		f(set)
	}
}

// onChange registers f, which is called with each set that is put in force from now on. f must
// not block.
func (r *Rules) onChange(f func(map[string]*rule)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changed = append(r.changed, f)
}

// hidden reports whether the rule of that name and source is not in force because the one of
// the other source takes precedence. It needs r.mu.
func (r *Rules) hidden(name, source string) bool {
	_, file := r.files[name]
	k, kept := r.kept[name]
	if !file || !kept || k.absent {
		return false
	}
	return (source == SourceFile) == (r.precedence == PrecedenceRedis)
}

// ordered is the revision of the rule in force under a name: the higher of both sources. When the
// rule of the other source comes into force, for example after a deletion, it must count as
// the newer one, or scripts would continue to use the rule before it. All pods with the same
// configuration compute the same revision. It needs r.mu.
func (r *Rules) ordered(name string) int64 { return max(r.revision, r.kept[name].revision) }

// next is the lowest revision that is higher than that of this sidecar's files.
func (r *Rules) next() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.revision + 1
}

// hides reports whether a file has a rule of that name that takes precedence over one in Redis.
func (r *Rules) hides(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, file := r.files[name]
	return file && r.precedence == PrecedenceFile
}

// SourceFile is the source of a rule of a file; the other source is coord.SourceRedis.
const SourceFile = "file"

// All lists every rule of this sidecar, sorted by name. Each is as it was written, without
// fields that are equal to their defaults.
func (r *Rules) All(context.Context, coord.Caller, *api.Nothing) (api.RatelimitRulesResult, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := api.RatelimitRulesResult{Precedence: string(r.precedence)}
	add := func(o api.Rule, source string, revision int64) {
		x := api.RuleInForce{Rule: PlainRule(o), Source: source, Hidden: r.hidden(o.Name, source), Revision: revision}
		if !x.Hidden {
			x.Revision = r.ordered(o.Name)
		}
		l.Rules = append(l.Rules, x)
	}
	for _, o := range r.files {
		add(o, SourceFile, r.revision)
	}
	for name, k := range r.kept {
		switch {
		case k.unreadable:
			l.Unreadable = append(l.Unreadable, name)
		case !k.absent:
			add(k.options, coord.SourceRedis, k.revision)
		}
	}
	slices.Sort(l.Unreadable)
	slices.SortFunc(l.Rules, func(a, b api.RuleInForce) int {
		return cmp.Or(strings.Compare(a.Rule.Name, b.Rule.Name), strings.Compare(a.Source, b.Source))
	})
	return l, nil
}

// InForce describes the rules in force for inspection, sorted by name.
func (r *Rules) InForce() []api.InspectRule {
	set := *r.set.Load() // loaded once: the set is replaced, never changed
	all := make([]api.InspectRule, 0, len(set))
	for name, l := range set {
		i := api.InspectRule{Name: name, Algorithm: l.algorithm.name, Revision: l.revision}
		for b, text := range l.names {
			if c := l.bands[b].Capacity; c != l.limits[b] {
				text += fmt.Sprintf(" burst %d", c)
			}
			i.Limits = append(i.Limits, text)
		}
		all = append(all, i)
	}
	slices.SortFunc(all, func(a, b api.InspectRule) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Names lists the names of the rules in force, sorted.
func (r *Rules) Names() []string { return slices.Sorted(maps.Keys(*r.set.Load())) }

// expect makes calls wait that name a rule which Redis may have, until looked is called. looked
// may be called more than once.
func (r *Rules) expect() (looked func()) {
	c := make(chan struct{})
	r.expected.Store(&c)
	var once sync.Once
	return func() { once.Do(func() { close(c); r.expected.CompareAndSwap(&c, nil) }) }
}

// find returns the rule in force with that name. At the start it waits for the first read of the
// rules in Redis, if one of them may be the rule.
func (r *Rules) find(name string) (*rule, error) {
	x, ok := (*r.set.Load())[name]
	if expected := r.expected.Load(); expected != nil && (!ok || !r.hides(name)) {
		<-*expected
		x, ok = (*r.set.Load())[name]
	}
	if ok {
		return x, nil
	}
	names := r.Names()
	near, ok := nearest.Name(name, names)
	switch {
	case ok:
		return nil, coord.NotFound("rule: there is no rule %q; did you mean %q?", name, near)
	case len(names) == 0:
		return nil, coord.NotFound("rule: there is no rule %q, and none is configured; add it to rules.items, or give algorithm and limits", name)
	default:
		return nil, coord.NotFound("rule: there is no rule %q; add it to rules.items, or give algorithm and limits", name)
	}
}
