package coord

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// RuleInfo is a rule in force, for people.
type RuleInfo struct {
	Name, Algorithm string
	Limits          []string // such as 80/10m, or 3/5s burst 6
	Revision        int64
}

// List describes the rules in force, sorted by name.
func (r *Rules) List() []RuleInfo {
	set := *r.set.Load() // as one: it is replaced, never changed
	all := make([]RuleInfo, 0, len(set))
	for name, l := range set {
		i := RuleInfo{Name: name, Algorithm: l.algorithm, Revision: l.revision}
		for b, text := range l.names {
			if c := l.bands[b].Capacity; c != l.limits[b] {
				text += fmt.Sprintf(" burst %d", c)
			}
			i.Limits = append(i.Limits, text)
		}
		all = append(all, i)
	}
	slices.SortFunc(all, func(a, b RuleInfo) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// HeldInfo is something that a session holds, for people: without its token,
// which is its owner's secret.
type HeldInfo struct {
	Noun, Name string
	// Left is how long it can be relied on unless it is renewed.
	Left  time.Duration
	Fence int64
}

// HeldBy describes at most that many of what a session holds, and says how many
// more there are. What Redis may hold after a lost reply is not among them.
func (l *Leases) HeldBy(s *Session, most int) (held []HeldInfo, more int) {
	now := time.Now()
	l.mu.Lock()
	if h := l.opened(s); h != nil {
		for x := range h.leases {
			switch {
			case x.doubt != nil:
			case len(held) >= most:
				more++
			default:
				held = append(held, HeldInfo{x.noun, x.name, max(x.validUntil.Sub(now), 0), x.fence})
			}
		}
	}
	l.mu.Unlock()
	slices.SortFunc(held, func(a, b HeldInfo) int {
		return cmp.Or(strings.Compare(a.Noun, b.Noun), strings.Compare(a.Name, b.Name))
	})
	return held, more
}
