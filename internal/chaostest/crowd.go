package chaostest

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/anishathalye/porcupine"
)

// most is the highest limit of a semaphore whose operations are put in order.
const most = 4

// share is what one token has of a semaphore; without a token it is nobody's.
type share struct {
	token   string
	permits int64
	fence   uint64
	silent  bool // as of owner
}

// may is whether this can be its fence.
func (s share) may(fence uint64) bool {
	if s.silent {
		return s.fence < fence
	}
	return s.fence == fence
}

// crowd is a semaphore bound to its TTL, with TTLs longer than any hold. It is
// compared by ==: those who hold it are sorted.
type crowd struct {
	held  [most]share
	fence uint64 // that the last grant has at least
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
	c.held[0] = s // nobody's sort first, and there is one: each has a permit at least
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

// apportion are the states after an operation on a semaphore, as of step.
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
		// Of a token that was told that it has none a first try may have freed them.
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
	default: // Gone: as of a lock.
	}
	return nil
}

// Crowded reports semaphores of which clients held more permits at once than
// there are. What a client is told it hears only when it runs, so that a belief
// counts only until the stall before its end.
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
			// As any crowd begins with the last of its grants, these instants are enough.
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
