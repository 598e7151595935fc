package coord

import (
	"context"
	"runtime/debug"
	"sync"
)

// Crew runs functions on a bounded number of goroutines; further functions queue, in order.
// A queued function costs its closure, and no stack.
type Crew struct {
	most int

	mu      sync.Mutex // guards what follows
	running int
	queue   []func()
	first   int // index of the first function in queue
}

// NewCrew makes a Crew of at most that many goroutines. They are started when needed.
func NewCrew(most int) *Crew { return &Crew{most: most} }

// Go runs f, now or when a goroutine is free. It never blocks.
func (c *Crew) Go(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running == c.most {
		c.queue = append(c.queue, f)
		return
	}
	c.running++
	go func() {
		for f := f; f != nil; f = c.next() {
			f()
		}
	}()
}

// next returns the next queued function, for a goroutine that has run one, or nil.
func (c *Crew) next() func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.first == len(c.queue) {
		c.running--
		c.queue, c.first = nil, 0 // frees the memory of a long queue
		return nil
	}
	f := c.queue[c.first]
	c.queue[c.first] = nil
	c.first++
	return f
}

// Parked is the context of a call that waits without a goroutine and goes on elsewhere. It
// notifies one listener when the call is cancelled, for a third of the memory that context.AfterFunc
// needs. It does not notify of a deadline.
type Parked struct {
	context.Context
	panicked func(r any, stack []byte)

	mu     sync.Mutex // guards what follows
	ended  bool
	listen func()
}

// NewParked makes a Parked. If the call panics after its wait, panicked is called with the value and the stack.
func NewParked(ctx context.Context, panicked func(r any, stack []byte)) *Parked {
	return &Parked{Context: ctx, panicked: panicked}
}

// parkedKey is the key of a Parked in itself.
type parkedKey struct{}

// Value implements context.Context.
func (t *Parked) Value(key any) any {
	if key == (parkedKey{}) {
		return t
	}
	return t.Context.Value(key)
}

// End notifies the listener. It is called after the context was cancelled.
func (t *Parked) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	if t.listen != nil {
		go t.listen()
	}
}

// OnEnd calls f on a goroutine of its own when ctx is cancelled, or at once if it has
// ended, unless stop was called before. A Parked context does not call f at its deadline;
// use OnDeadline for that.
func OnEnd(ctx context.Context, f func()) (stop func()) {
	t, _ := ctx.Value(parkedKey{}).(*Parked)
	if t == nil {
		return OnDeadline(ctx, f)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		go f()
		return func() {}
	}
	earlier := t.listen
	t.listen = f
	if earlier != nil {
		t.listen = func() {
			earlier()
			f()
		}
	}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.listen = earlier
	}
}

// OnDeadline is OnEnd that also calls f at the deadline, for any ctx.
func OnDeadline(ctx context.Context, f func()) (stop func()) {
	after := context.AfterFunc(ctx, f)
	return func() { after() }
}

// TellPanic is deferred by a function in which a call goes on after its wait. It passes a panic to the call's Parked;
// without a Parked, the panic ends the process.
func TellPanic(ctx context.Context) {
	t, _ := ctx.Value(parkedKey{}).(*Parked)
	if t == nil {
		return
	}
	if r := recover(); r != nil {
		t.panicked(r, debug.Stack())
	}
}

// Await runs start and blocks until done is called, whose arguments it returns.
func Await[T any](start func(done func(T, error))) (v T, err error) {
	ended := make(chan struct{})
	start(func(x T, e error) {
		v, err = x, e
		close(ended)
	})
	<-ended
	return v, err
}
