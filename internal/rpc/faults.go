package rpc

import (
	"sync"
	"time"
)

// faultEvery is how often the faults of a method are logged. A fault of every call
// would otherwise fill the log, and hide earlier lines.
const faultEvery = 10 * time.Second

// faults samples the log of faults, for each method on its own.
type faults struct {
	mu   sync.Mutex // guards said
	said map[string]*said
}

// said is when a fault of a method was last logged, and how many were not logged since then.
type said struct {
	at      time.Time
	dropped int
}

// take reports whether a fault is to be logged, and how many were not logged since the last one.
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
