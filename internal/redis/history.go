package redis

import (
	"sync"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// Probed is the result of the probes of one second.
type Probed struct {
	At  time.Time // the last of them
	Up  bool      // all of them found it up
	RTT time.Duration
}

// maxProbed is how many seconds are kept: five minutes of a store that is up.
const maxProbed = 300

// history keeps the results of the last probes.
type history struct {
	mu   sync.Mutex // guards ring
	ring *telemetry.Ring[Probed]
}

func newHistory() history { return history{ring: telemetry.NewRing[Probed](maxProbed)} }

// probed adds the result of a probe. Each node of a cluster has its own probe, and a node that is down is probed many
// times a second: the results of all probes of one second become one.
func (h *history) probed(p Probed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if last := h.ring.Last(); last != nil && last.At.Unix() == p.At.Unix() {
		p.Up, p.RTT = p.Up && last.Up, max(p.RTT, last.RTT)
		*last = p
		return
	}
	h.ring.Add(p)
}

// History lists the results of the last 300 seconds in which there were probes, the latest first.
func (s *Store) History() []Probed {
	s.history.mu.Lock()
	defer s.history.mu.Unlock()
	return s.history.ring.List()
}
