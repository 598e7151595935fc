package conformance

import (
	"container/heap"
	"sync"
	"time"
)

// Clock is the clock of a system under test: its scripts use Micros (lua.Options.Clock), its sidecars the other methods
// (coord.Clock).
type Clock struct {
	mu     sync.Mutex // guards what follows
	now    time.Time
	timers timers
}

// NewClock returns a clock that only Advance moves.
func NewClock() *Clock { return &Clock{now: time.UnixMicro(1_700_000_000_000_000)} }

// Now returns the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Micros returns the clock's time in Unix microseconds.
func (c *Clock) Micros() int64 { return c.Now().UnixMicro() }

// Advance moves the clock by d. The functions that are due meanwhile run in order, each
// at its own time and before the next.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	end := c.now.Add(d)
	for len(c.timers) > 0 && !c.timers[0].at.After(end) {
		t := heap.Pop(&c.timers).(*timer)
		c.now = t.at
		c.mu.Unlock()
		t.f()
		c.mu.Lock()
	}
	c.now = end
}

// Next returns when the next function is due; false if there is none.
func (c *Clock) Next() (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.timers) == 0 {
		return time.Time{}, false
	}
	return c.timers[0].at, true
}

// AfterFunc makes Advance call f when it is due. If d is at most 0, f runs at once on a goroutine of its own, as with
// time.AfterFunc.
func (c *Clock) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	if d <= 0 {
		go f()
		return func() bool { return false }
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &timer{at: c.now.Add(d), f: f}
	heap.Push(&c.timers, t)
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		if t.index < 0 {
			return false
		}
		heap.Remove(&c.timers, t.index)
		return true
	}
}

type timer struct {
	at    time.Time
	f     func()
	index int // in the heap, -1 if it is not in it
}

type timers []*timer

func (t timers) Len() int           { return len(t) }
func (t timers) Less(i, j int) bool { return t[i].at.Before(t[j].at) }
func (t timers) Swap(i, j int)      { t[i], t[j] = t[j], t[i]; t[i].index, t[j].index = i, j }
func (t *timers) Push(x any) {
	x.(*timer).index = len(*t)
	*t = append(*t, x.(*timer))
}

func (t *timers) Pop() any {
	old := *t
	x := old[len(old)-1]
	*t, x.index = old[:len(old)-1], -1
	return x
}
