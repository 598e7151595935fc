package ratelimit

import (
	"container/heap"
	"sync"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// sweep calls look of each holding when it is due. One timer serves all of them, since each of
// thousands of busy keys is due twice a lease.
type sweep struct {
	clock coord.Clock
	now   func() time.Duration

	mu    sync.Mutex // guards the fields below, and lookAt and place of each holding
	due   dueHoldings
	last  time.Duration // when it swept last
	armed time.Duration // when the timer fires
	stop  func() bool   // stops the timer; nil = it is not set
}

// sweepApart is the least time from one sweep to the next, so that one sweep handles holdings
// that are due shortly after one another.
const sweepApart = 5 * time.Millisecond

// add makes a holding due after a time, unless it is due earlier.
func (s *sweep) add(h *holding, now, after time.Duration) {
	at := now + max(after, time.Millisecond)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case h.place == 0:
		h.lookAt = at
		heap.Push(&s.due, h)
	case at < h.lookAt:
		h.lookAt = at
		heap.Fix(&s.due, h.place-1)
	}
	s.arm(now)
}

// remove removes a holding from the sweep.
func (s *sweep) remove(h *holding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.place > 0 {
		heap.Remove(&s.due, h.place-1)
	}
}

// arm sets the timer for the first holding that is due. It needs s.mu.
func (s *sweep) arm(now time.Duration) {
	if len(s.due) == 0 {
		return
	}
	at := max(s.due[0].lookAt, s.last+sweepApart)
	if s.stop != nil {
		if s.armed <= at {
			return
		}
		s.stop()
	}
	s.armed = at
	s.stop = s.clock.AfterFunc(max(at-now, time.Millisecond), s.look)
}

// look calls look of the holdings that are due. A timer that fired before it was stopped may
// run it too early; then it finds none.
func (s *sweep) look() {
	now := s.now()
	var due []*holding
	s.mu.Lock()
	if s.armed <= now {
		s.stop = nil
	}
	s.last = now
	for len(s.due) > 0 && s.due[0].lookAt <= now {
		h, _ := heap.Pop(&s.due).(*holding)
		due = append(due, h)
	}
	s.arm(now)
	s.mu.Unlock()
	for _, h := range due {
		h.look()
	}
}

// dueHoldings is a heap of holdings, the one that is due first on top.
type dueHoldings []*holding

func (d dueHoldings) Len() int           { return len(d) }
func (d dueHoldings) Less(i, j int) bool { return d[i].lookAt < d[j].lookAt }
func (d dueHoldings) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].place, d[j].place = i+1, j+1
}

// Push implements heap.Interface.
func (d *dueHoldings) Push(x any) {
	h, _ := x.(*holding)
	*d = append(*d, h)
	h.place = len(*d)
}

// Pop implements heap.Interface.
func (d *dueHoldings) Pop() any {
	last := len(*d) - 1
	h := (*d)[last]
	(*d)[last] = nil
	*d = (*d)[:last]
	h.place = 0
	return h
}
