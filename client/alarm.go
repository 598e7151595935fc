package client

import (
	"container/heap"
	"sync"
	"time"
)

// alarm is when the check of a lease runs next.
type alarm struct {
	at    time.Duration // by the client's clock
	place int           // its index in the heap plus 1; 0 = it is not set
}

// alarms run the checks of all leases of a client by one timer. Most leases end long
// before their first check. The timer is then left as it is, and may run without a check to do.
type alarms struct {
	mu    sync.Mutex // guards what follows
	heap  alarmHeap
	timer *time.Timer   // nil until the first lease
	next  time.Duration // when the timer runs, by the client's clock; 0 = it does not
}

// set sets the alarm of a lease, in place of the one that it has.
func (a *alarms) set(h *held, at time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	h.at = at
	if h.place == 0 {
		heap.Push(&a.heap, h)
	} else {
		heap.Fix(&a.heap, h.place-1)
	}
	a.arm(h.c)
}

// stop ends the alarm of a lease, if it is set.
func (a *alarms) stop(h *held) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if h.place > 0 {
		heap.Remove(&a.heap, h.place-1)
	}
}

// arm makes sure that the timer runs at the first alarm or before.
func (a *alarms) arm(c *Client) {
	if len(a.heap) == 0 || a.next != 0 && a.next <= a.heap[0].at {
		return
	}
	a.next = max(a.heap[0].at, 1)
	if left := max(a.next-c.now(), 0); a.timer == nil {
		a.timer = time.AfterFunc(left, func() { a.run(c) })
	} else {
		a.timer.Reset(left)
	}
}

// run starts the checks that are due, each on its own goroutine: a check calls the sidecar.
func (a *alarms) run(c *Client) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.next = 0
	for now := c.now(); len(a.heap) > 0 && a.heap[0].at <= now; {
		go heap.Pop(&a.heap).(*held).check()
	}
	a.arm(c)
}

// alarmHeap is a heap of leases by their alarms.
type alarmHeap []*held

func (l alarmHeap) Len() int           { return len(l) }
func (l alarmHeap) Less(i, j int) bool { return l[i].at < l[j].at }
func (l alarmHeap) Swap(i, j int) {
	l[i], l[j] = l[j], l[i]
	l[i].place, l[j].place = i+1, j+1
}

// Push adds a lease.
func (l *alarmHeap) Push(v any) {
	h := v.(*held)
	*l = append(*l, h)
	h.place = len(*l)
}

// Pop removes the last lease.
func (l *alarmHeap) Pop() any {
	last := len(*l) - 1
	h := (*l)[last]
	(*l)[last] = nil
	*l = (*l)[:last]
	h.place = 0
	return h
}
