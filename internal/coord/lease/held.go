package lease

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// HeldInfo is a lease that a session holds, for display: without its token,
// which is its owner's secret.
type HeldInfo struct {
	Noun, Name string
	// Left is how long the lease is valid unless it is renewed.
	Left  time.Duration
	Fence int64
}

// HeldBy returns the leases that a session holds, at most that many, and the number of
// the others. It omits ambiguous leases, whose acquisition got no reply.
func (l *Leases) HeldBy(s *coord.Session, most int) (held []HeldInfo, more int) {
	now := time.Now()
	l.mu.Lock()
	if h := l.opened(s); h != nil {
		for x := range h.leases {
			switch {
			case x.ambiguous != nil:
			case len(held) >= most:
				more++
			default:
				held = append(held, HeldInfo{x.Noun, x.Name, max(x.validUntil.Sub(now), 0), x.Fence})
			}
		}
	}
	l.mu.Unlock()
	slices.SortFunc(held, func(a, b HeldInfo) int {
		return cmp.Or(strings.Compare(a.Noun, b.Noun), strings.Compare(a.Name, b.Name))
	})
	return held, more
}
