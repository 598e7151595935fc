package rpc

import (
	"sync"
	"time"
)

// faultEvery is how often a method's faults are logged: one that every call meets
// would else fill the log, and hide what came before it.
const faultEvery = 10 * time.Second

// faults samples the log of faults, each method for itself.
type faults struct {
	mu   sync.Mutex // guards said
	said map[string]*said
}

// said is when a method's fault was logged last, and how many were not since.
type said struct {
	at      time.Time
	dropped int
}

// take reports whether a fault is to be logged, and how many were not.
func (f *faults) take(method string, now time.Time) (dropped int, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.said[method]
	switch {
	case s == nil:
		if f.said == nil {
			f.said = make(map[string]*said)
		}
		f.said[method] = &said{at: now}
		return 0, true
	case now.Sub(s.at) < faultEvery:
		s.dropped++
		return 0, false
	}
	dropped = s.dropped
	*s = said{at: now}
	return dropped, true
}
