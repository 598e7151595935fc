package chaostest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Fences reports grants whose fence is not above that of a grant which was answered before they were asked for. All
// grants of one token have the same fence, unless data may have been lost between them: then a later fence is not
// lower. An old master that has not noticed its replacement still confirms its own grants; such a repetition does not
// count as a grant.
func Fences(grants []Grant, dataLost bool) []Violation {
	byName := make(map[string][]Grant)
	for _, g := range grants {
		byName[g.Name] = append(byName[g.Name], g)
	}
	var found []Violation
	for _, of := range byName {
		slices.SortFunc(of, func(a, b Grant) int { return cmp.Compare(a.Call, b.Call) })
		found = append(found, sameFence(of, dataLost)...)
		if dataLost || of[0].Shared {
			of = first(of)
		}
		found = append(found, fences(of)...)
	}
	slices.SortFunc(found, func(a, b Violation) int { return cmp.Compare(a.What, b.What) })
	return found
}

// first returns the grants without repetitions of the same grant.
func first(byCall []Grant) []Grant {
	type grant struct {
		token string
		fence uint64
	}
	seen := make(map[grant]bool)
	return slices.DeleteFunc(byCall, func(g Grant) bool {
		again := seen[grant{g.Token, g.Fence}]
		seen[grant{g.Token, g.Fence}] = true
		return again
	})
}

func fences(byCall []Grant) []Violation {
	byReturn := slices.Clone(byCall)
	slices.SortFunc(byReturn, func(a, b Grant) int { return cmp.Compare(a.Return, b.Return) })
	var found []Violation
	// Of the grants that had returned, the highest one and the highest one of another token, since a token may repeat
	// its own.
	var high, other Grant
	returned := 0
	for _, g := range byCall {
		for ; returned < len(byReturn) && byReturn[returned].Return < g.Call; returned++ {
			switch r := byReturn[returned]; {
			case r.Fence > high.Fence && r.Token != high.Token:
				high, other = r, high
			case r.Fence > high.Fence:
				high = r
			case r.Token != high.Token && r.Fence > other.Fence:
				other = r
			}
		}
		before := high
		if g.Token == high.Token {
			before = other
		}
		if before.Name != "" && g.Fence <= before.Fence {
			found = append(found, Violation{
				Rule: "fences", What: g.Name + ": a later owner's fence is not higher", Part: texts(before, g),
			})
		}
	}
	return found
}

func sameFence(byCall []Grant, dataLost bool) []Violation {
	var found []Violation
	last := make(map[string]Grant)
	for _, g := range byCall {
		was, again := last[g.Token]
		if again && (g.Fence < was.Fence || !dataLost && g.Fence != was.Fence) {
			found = append(found, Violation{
				Rule: "fences", What: g.Name + ": the same token has another fence", Part: texts(was, g),
			})
		}
		last[g.Token] = g
	}
	return found
}

// Beliefs reports pairs of clients that held one lock at the same time for longer than
// stalls explain: a client notices a loss only when its goroutine runs.
func Beliefs(holds []Hold, stalls *Stalls) []Violation {
	byName := make(map[string][]Hold)
	for _, h := range holds {
		byName[h.Name] = append(byName[h.Name], h)
	}
	var found []Violation
	for name, of := range byName {
		slices.SortFunc(of, func(a, b Hold) int { return cmp.Compare(a.From, b.From) })
		var last Hold // of the holds so far, the one that lasts longest
		for _, h := range of {
			if both := min(last.Until, h.Until) - h.From; both > stalls.Around(h.From) {
				found = append(found, Violation{
					Rule: "exclusive", What: fmt.Sprintf("%s: two clients held it at once for %v", name, both), Part: texts(last, h),
				})
			}
			if h.Until > last.Until {
				last = h
			}
		}
	}
	slices.SortFunc(found, func(a, b Violation) int { return cmp.Compare(a.What, b.What) })
	return found
}

// Stalls are the times in which this machine ran the tests' goroutines late. A client that gets a loss in time may
// record it late by as much. A nil Stalls is empty.
type Stalls struct {
	mu   sync.Mutex // guards gaps
	gaps []stall
}

type stall struct{ from, till time.Duration }

const (
	// tick is how often Watch checks for a stall.
	tick = 5 * time.Millisecond
	// nearby is how far from a stall an instant may be for Around to return that stall.
	nearby = time.Second
)

// Watch records stalls until ctx ends.
func (s *Stalls) Watch(ctx context.Context, now func() time.Duration) {
	t := time.NewTicker(tick)
	defer t.Stop()
	last := now()
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		n := now()
		if n-last > 2*tick {
			s.Add(last, n)
		}
		last = n
	}
}

// Add records a stall.
func (s *Stalls) Add(from, till time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gaps = append(s.gaps, stall{from, till})
}

// Around returns the longest stall near a time; 0 = none.
func (s *Stalls) Around(t time.Duration) time.Duration {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var longest time.Duration
	for _, g := range s.gaps {
		if g.from < t+nearby && g.till > t-nearby {
			longest = max(longest, g.till-g.from)
		}
	}
	return longest
}

// spans returns the stalls that lasted at least this long.
func (s *Stalls) spans(least time.Duration) []Span {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Span
	for _, g := range s.gaps {
		if g.till-g.from >= least {
			all = append(all, Span{g.from, g.till})
		}
	}
	return all
}
