package rpc

import (
	"sync"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// workers are the goroutines that read connections and run calls. They are reused,
// because a call needs more stack than a new goroutine has.
//
// The number of calls that run is bounded over all connections: each has a stack, and
// more calls than go to Redis in a few batches would only wait somewhere else. The other
// calls are queued, in order, and take only the memory of their params. Readers are never
// queued, because cancels and releases must be read.
type workers struct {
	wg sync.WaitGroup
	// turns starts calls that wait for their turn; package coord ends them.
	turns *coord.Crew

	mu      sync.Mutex // guards what follows
	idle    []chan task
	free    int // how many more calls may run
	queue   []*call
	first   int // of queue
	stopped bool
}

// task is a connection to read, or a call to run.
type task struct {
	conn *conn
	call *call
}

const (
	// maxRunning bounds the calls that run at once, over all connections.
	maxRunning = 1024
	// maxIdle bounds the goroutines that are kept for later.
	maxIdle = 128
)

// lead makes another goroutine read c, so that the caller may run k. It returns
// false if k was queued instead, and the caller must go on reading.
func (w *workers) lead(c *conn, k *call) bool {
	w.mu.Lock()
	if w.free == 0 {
		w.push(k)
		w.mu.Unlock()
		return false
	}
	w.free--
	w.start(task{conn: c})
	return true
}

// submit runs k on another goroutine, now or when one may run.
func (w *workers) submit(k *call) {
	w.mu.Lock()
	if w.free == 0 {
		w.push(k)
		w.mu.Unlock()
		return
	}
	w.free--
	w.start(task{call: k})
}

// apart runs k without counting it among the running calls: k waits, and waiting calls
// have a bound of their own.
func (w *workers) apart(k *call) {
	if !k.entry.parks {
		w.wg.Go(k.run)
		return
	}
	w.wg.Add(1) // launch calls Done when the call is answered
	w.turns.Go(k.launch)
}

// serve reads a new connection on a goroutine of its own.
func (w *workers) serve(c *conn) {
	w.mu.Lock()
	w.start(task{conn: c})
}

// start gives t to the goroutine that became idle last, whose stack is most likely in
// the cache, or to a new one. It unlocks mu, which the caller holds.
func (w *workers) start(t task) {
	n := len(w.idle)
	if n == 0 {
		w.mu.Unlock()
		w.wg.Go(func() { w.work(t) })
		return
	}
	ch := w.idle[n-1]
	w.idle = w.idle[:n-1]
	w.mu.Unlock()
	ch <- t
}

func (w *workers) work(t task) {
	ch := make(chan task, 1)
	for ok := true; ok; {
		k := t.call
		if t.conn != nil {
			k = t.conn.serve()
		}
		for k != nil {
			k.run()
			k = w.next()
		}
		if t, ok = w.rest(ch); !ok {
			return
		}
	}
}

// push queues a call; the caller holds mu. Room in front of the queue is used
// before it grows.
func (w *workers) push(k *call) {
	if len(w.queue) == cap(w.queue) && w.first > len(w.queue)/2 {
		n := copy(w.queue, w.queue[w.first:])
		clear(w.queue[n:])
		w.queue, w.first = w.queue[:n], 0
	}
	w.queue = append(w.queue, k)
}

// next returns the next queued call to a goroutine that has run one, or nil.
func (w *workers) next() *call {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.first == len(w.queue) {
		w.free++
		return nil
	}
	k := w.queue[w.first]
	w.queue[w.first] = nil
	w.first++
	if w.first == len(w.queue) {
		w.queue, w.first = w.queue[:0], 0
	}
	return k
}

// rest waits for the next task, and returns false if the goroutine must end.
func (w *workers) rest(ch chan task) (task, bool) {
	w.mu.Lock()
	if w.stopped || len(w.idle) >= maxIdle {
		w.mu.Unlock()
		return task{}, false
	}
	w.idle = append(w.idle, ch)
	w.mu.Unlock()
	t, ok := <-ch
	return t, ok
}

// stop ends the idle goroutines and returns when the busy ones have ended too.
func (w *workers) stop() {
	w.mu.Lock()
	w.stopped = true
	for _, ch := range w.idle {
		close(ch)
	}
	w.idle = nil
	w.mu.Unlock()
	w.wg.Wait()
}
