package ratelimit

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

const (
	// refusalWindow is how long one sketch counts before the next one does.
	refusalWindow = 5 * time.Minute
	// maxRefused is how many keys are counted at a time, and shownRefused how many are shown.
	maxRefused   = 256
	shownRefused = 100
)

// refusals find the keys that limits refused most, of the last five to ten minutes. Only a refusal costs anything, and memory is
// bounded, since callers choose keys and there may be millions.
type refusals struct {
	mu     sync.Mutex // guards what follows
	since  time.Time  // when the window of now began
	now    sketch
	before sketch    // of the window before it
	whole  time.Time // when that window began
}

func newRefusals(at time.Time) refusals { return refusals{since: at, whole: at} }

// count takes a refusal.
func (r *refusals) count(at time.Time, rule, key, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn(at)
	r.now.count(refusedKey{rule, key}, reason)
}

// turn begins the next window if a time is in it. It needs r.mu.
func (r *refusals) turn(at time.Time) {
	switch gone := at.Sub(r.since); {
	case gone < refusalWindow:
		return
	case gone < 2*refusalWindow:
		r.before, r.whole, r.since = r.now, r.since, r.since.Add(refusalWindow)
	default: // nothing was refused in the window before
		r.before, r.whole, r.since = sketch{}, at, at
	}
	r.now = sketch{}
}

// most lists the keys that were refused most, in this order.
func (r *refusals) most(at time.Time) api.InspectRefusals {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn(at)
	all := make(map[refusedKey]*api.InspectRefused)
	for _, s := range []*sketch{&r.before, &r.now} {
		for _, c := range s.all {
			if all[c.refusedKey] == nil {
				all[c.refusedKey] = &api.InspectRefused{Rule: c.rule, Key: c.key}
			}
			all[c.refusedKey].Reason = c.reason
		}
	}
	result := api.InspectRefusals{SinceAtMS: r.whole.UnixMilli()}
	for k, one := range all {
		for _, s := range []*sketch{&r.before, &r.now} {
			refused, off := s.of(k)
			one.Refused += refused
			one.OffBy += off
		}
		result.Keys = append(result.Keys, *one)
	}
	slices.SortFunc(result.Keys, func(a, b api.InspectRefused) int {
		return cmp.Or(cmp.Compare(b.Refused, a.Refused), strings.Compare(a.Rule, b.Rule), strings.Compare(a.Key, b.Key))
	})
	result.Keys = result.Keys[:min(len(result.Keys), shownRefused)]
	return result
}

// sketch counts the keys that come most often, by the algorithm Space-Saving (Metwally,
// Agrawal and El Abbadi, "Efficient computation of frequent and top-k elements in data
// streams", 2005): a key that finds no free counter takes over the smallest one with its
// count, which is then by how much the key's own count may be too high. Whatever came more
// often than one in maxRefused of all is counted. The zero sketch has counted nothing.
//
// The smallest is looked for when it is needed. That is rare unless keys hardly repeat, and
// then still cheaper than keeping order at each refusal of those that do.
type sketch struct {
	byKey map[refusedKey]*refusedCount
	all   []*refusedCount
}

type refusedKey struct{ rule, key string }

type refusedCount struct {
	refusedKey
	reason      string
	count, over int64
}

func (s *sketch) count(k refusedKey, reason string) {
	c := s.byKey[k]
	if c == nil {
		c = s.take()
		c.refusedKey = refusedKey{k.rule, strings.Clone(k.key)} // which may be a part of a large text
		s.byKey[c.refusedKey] = c
	}
	c.count++
	c.reason = reason
}

// take returns a new counter, or the smallest one, which is then nobody's.
func (s *sketch) take() *refusedCount {
	if len(s.all) < maxRefused {
		if s.byKey == nil {
			s.byKey = make(map[refusedKey]*refusedCount)
		}
		s.all = append(s.all, &refusedCount{})
		return s.all[len(s.all)-1]
	}
	c := s.smallest()
	delete(s.byKey, c.refusedKey)
	c.over = c.count
	return c
}

func (s *sketch) smallest() *refusedCount {
	return slices.MinFunc(s.all, func(a, b *refusedCount) int { return cmp.Compare(a.count, b.count) })
}

// of is how often a key came, and by how much that may be wrong.
func (s *sketch) of(k refusedKey) (count, off int64) {
	switch c := s.byKey[k]; {
	case c != nil:
		return c.count, c.over
	case len(s.all) == maxRefused: // it may have been counted and lost its counter
		return 0, s.smallest().count
	default:
		return 0, 0
	}
}

// Refusals are the keys that this sidecar refused most lately.
func (l *Limiter) Refusals() api.InspectRefusals { return l.refused.most(l.clock.Now()) }
