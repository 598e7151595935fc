package chaostest

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/anishathalye/porcupine"
)

// most is the highest limit of a semaphore that the model supports.
const most = 4

// share is the permits of a semaphore that one token holds. A share without a token is empty.
type share struct {
	token   string
	permits int64
	fence   uint64
	silent  bool // see owner
}

// may reports whether the share can have this fence.
func (s share) may(fence uint64) bool {
	if s.silent {
		return s.fence < fence
	}
	return s.fence == fence
}

// crowd is the state of a semaphore whose leases are bound to their TTL, which is longer than any hold. States are
// compared by ==, so held is kept sorted.
type crowd struct {
	held  [most]share
	fence uint64 // a lower bound of the last grant's fence
}

func (c crowd) of(token string) (share, bool) {
	i := slices.IndexFunc(c.held[:], func(s share) bool { return s.token == token })
	if i < 0 {
		return share{}, false
	}
	return c.held[i], true
}

func (c crowd) sum() int64 {
	var n int64
	for _, s := range c.held {
		n += s.permits
	}
	return n
}

func (c crowd) with(s share) crowd {
	c = c.without(s.token)
	c.held[0] = s // an empty one: these sort first, and one is left, since each holder has a permit
	return c.sorted()
}

func (c crowd) without(token string) crowd {
	for i, s := range c.held {
		if s.token == token {
			c.held[i] = share{}
		}
	}
	return c.sorted()
}

func (c crowd) sorted() crowd {
	slices.SortFunc(c.held[:], func(a, b share) int { return cmp.Compare(a.token, b.token) })
	return c
}

func semaphoreModel(queued bool) porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{crowd{}} },
		StepContext: func(_ context.Context, state, input, _ any) []any {
			return apportion(state.(crowd), input.(LockOp), queued)
		},
	}
	return m.ToModel()
}

// apportion returns the possible states after an operation on a semaphore, as step does for a lock.
func apportion(c crowd, o LockOp, queued bool) []any {
	s, mine := c.of(o.Token)
	switch o.Kind {
	case Acquire:
		return shared(c, o, queued)
	case Renew:
		switch {
		case o.Outcome == Unknown,
			o.Outcome == Renewed && mine && s.may(o.Fence),
			o.Outcome == Expired && !mine:
			return []any{c}
		}
		return nil
	default:
		switch {
		case o.Outcome == Released && !mine:
			return nil
		case o.Outcome == Unknown && mine:
			return []any{c, c.without(o.Token)}
		}
		// If the answer is that the token holds none, an earlier try of the same call may have released them.
		return []any{c.without(o.Token)}
	}
}

func shared(c crowd, o LockOp, queued bool) []any {
	s, mine := c.of(o.Token)
	fits := !mine && c.sum()+o.Permits <= o.Limit
	switch o.Outcome {
	case Acquired:
		again := mine && s.permits == o.Permits && s.may(o.Fence)
		if !again && (!fits || o.Fence <= c.fence) {
			return nil
		}
		c = c.with(share{token: o.Token, permits: o.Permits, fence: o.Fence})
		c.fence = max(c.fence, o.Fence)
		return []any{c}
	case Busy:
		if queued || !mine && !fits {
			return []any{c}
		}
	case Unknown:
		if fits {
			return []any{c, c.with(share{token: o.Token, permits: o.Permits, fence: c.fence, silent: true})}
		}
		return []any{c}
	default: // Gone is impossible, as for a lock.
	}
	return nil
}

// Crowded reports semaphores of which clients held more permits at once than there are. A client notices a loss only
// when its goroutine runs, so that a hold counts as shorter by the longest stall near its end.
func Crowded(holds []Hold, stalls *Stalls) []Violation {
	byName := make(map[string][]Hold)
	for _, h := range holds {
		if h.Limit > 0 {
			h.Until -= stalls.Around(h.Until)
			byName[h.Name] = append(byName[h.Name], h)
		}
	}
	var found []Violation
	for name, of := range byName {
		for _, last := range of {
			// The number of held permits rises only at a grant, so these instants are enough.
			var with []Hold
			var sum int64
			for _, h := range of {
				if h.From <= last.From && last.From < h.Until {
					sum += h.Permits
					with = append(with, h)
				}
			}
			if sum > last.Limit {
				found = append(found, Violation{
					Rule: "crowded", What: fmt.Sprintf("%s: %d permits of %d were held at %s", name, sum, last.Limit, at(last.From)), Part: texts(with...),
				})
				break
			}
		}
	}
	slices.SortFunc(found, func(a, b Violation) int { return cmp.Compare(a.What, b.What) })
	return found
}
