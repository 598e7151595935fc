package redis

import (
	"sync"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// Probed is what the probes of one second found.
type Probed struct {
	At  time.Time // the last of them
	Up  bool      // all of them found it up
	RTT time.Duration
}

// maxProbed is how many seconds are kept: five minutes of a store that is up.
const maxProbed = 300

// history is what probes found lately.
type history struct {
	mu   sync.Mutex // guards ring
	ring *telemetry.Ring[Probed]
}

// probed keeps what a probe found. The nodes of a cluster are probed each for itself, and
// a node that is away many times a second: those of a second are one.
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

// History is what probes found in the last 300 seconds that had any, the latest first.
func (s *Store) History() []Probed {
	s.history.mu.Lock()
	defer s.history.mu.Unlock()
	return s.history.ring.List()
}
