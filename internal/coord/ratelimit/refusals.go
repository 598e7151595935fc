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
	// refusalWindow is how long one sketch counts before the next one replaces it.
	refusalWindow = 5 * time.Minute
	// maxRefused is how many keys a sketch counts, shownRefused how many are listed.
	maxRefused   = 256
	shownRefused = 100
)

// refusals finds the keys that limits refused most in the last five to ten minutes. Only refusals cost time. Memory is bounded,
// since callers choose the keys, and there may be millions.
type refusals struct {
	mu     sync.Mutex // guards the fields below
	since  time.Time  // when the window of now began
	now    sketch
	before sketch    // of the window before it
	whole  time.Time // when that window began
}

func newRefusals(at time.Time) refusals { return refusals{since: at, whole: at} }

// count counts a refusal.
func (r *refusals) count(at time.Time, rule, key, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn(at)
	r.now.count(refusedKey{rule, key}, reason)
}

// turn starts the next window if at is after the present one. It needs r.mu.
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

// most lists the keys that were refused most, the most refused first.
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

// sketch counts the most frequent keys by the algorithm Space-Saving (Metwally, Agrawal and
// El Abbadi, "Efficient computation of frequent and top-k elements in data streams", 2005): a
// key that finds no free counter takes over the smallest one together with its count, which
// is the most by which the key's own count may then be too high. A key that comes more often
// than once in maxRefused refusals is always counted. The zero sketch is empty.
//
// The smallest counter is searched for when it is needed. That is rare unless keys hardly
// repeat, and cheaper than keeping the counters sorted at each refusal of keys that do.
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
		c.refusedKey = refusedKey{k.rule, strings.Clone(k.key)} // cloned, since the key may be part of a large buffer
		s.byKey[c.refusedKey] = c
	}
	c.count++
	c.reason = reason
}

// take returns a new counter, or the smallest one, detached from its key.
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

// of returns how often a key came, and by how much that may be wrong.
func (s *sketch) of(k refusedKey) (count, off int64) {
	switch c := s.byKey[k]; {
	case c != nil:
		return c.count, c.over
	case len(s.all) == maxRefused: // the key may have been counted and have lost its counter
		return 0, s.smallest().count
	default:
		return 0, 0
	}
}

// Refusals returns the keys that this sidecar refused most in the last five to ten minutes.
func (l *Limiter) Refusals() api.InspectRefusals { return l.refused.most(l.clock.Now()) }
