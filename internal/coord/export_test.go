package coord

import (
	"time"
)

const MaxRecent = maxRecent

// SetClock makes time what a test says. Use it before anyone subscribes.
func (e *Events) SetClock(now func() time.Time) { e.clock = now }

// Bursts counts what is remembered of sampled events.
func (e *Events) Bursts() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.bursts)
}

// MaxBursts bounds that.
const MaxBursts = maxBursts
