package ratelimit

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// stats has the counters of all rules, including those that no longer exist. Their number is
// bounded by the names of rules, which callers cannot invent.
type stats struct {
	mu    sync.RWMutex // guards rules
	rules map[string]*counters
}

type counters struct{ allowed, refused, shadowed, degraded, waited, wait atomic.Int64 }

func (s *stats) of(rule string) *counters {
	s.mu.RLock()
	c := s.rules[rule]
	s.mu.RUnlock()
	if c != nil {
		return c
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c = s.rules[rule]; c == nil {
		c = &counters{}
		s.rules[rule] = c
	}
	return c
}

// count counts one decision.
func (s *stats) count(rule string, d decision) {
	c := s.of(rule)
	if d.Allowed {
		c.allowed.Add(1)
	} else {
		c.refused.Add(1)
	}
	if d.Shadow {
		c.shadowed.Add(1)
	}
	if d.Degraded {
		c.degraded.Add(1)
	}
	if d.Allowed && d.waited > 0 {
		c.waited.Add(1)
		c.wait.Add(int64(d.waited))
	}
}

// Failed counts a call that failed by fail mode closed.
func (s *stats) Failed(rule string) { s.of(rule).degraded.Add(1) }

// Stats returns the counts of this sidecar's decisions since it started, by rule, sorted by
// name. A decision that is counted at the same moment may be in some of its counts only.
func (l *Limiter) Stats(context.Context, coord.Caller, *api.Nothing) (api.RatelimitStatsResult, error) {
	return api.RatelimitStatsResult{Since: l.made.UnixMilli(), Rules: l.Decisions()}, nil
}

// Decisions returns the counts of Stats.
func (l *Limiter) Decisions() (all []api.RuleStats) {
	l.stats.mu.RLock()
	defer l.stats.mu.RUnlock()
	for name, c := range l.stats.rules {
		all = append(all, api.RuleStats{
			Rule: name, Allowed: c.allowed.Load(), Refused: c.refused.Load(), Shadowed: c.shadowed.Load(),
			Degraded: c.degraded.Load(), Waited: c.waited.Load(), WaitedMS: time.Duration(c.wait.Load()).Milliseconds(),
		})
	}
	slices.SortFunc(all, func(a, b api.RuleStats) int { return cmp.Compare(a.Rule, b.Rule) })
	return all
}
