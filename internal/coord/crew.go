package coord

import (
	"context"
	"runtime/debug"
	"sync"
)

// Crew runs functions on so many goroutines at most; the others queue, in order.
// What waits costs its closure there, and no stack.
type Crew struct {
	most int

	mu      sync.Mutex // guards what follows
	running int
	queue   []func()
	first   int // of queue
}

// NewCrew makes one of so many goroutines at most. It starts none before it is needed.
func NewCrew(most int) *Crew { return &Crew{most: most} }

// Go runs f, now or when one of the crew is free. It never blocks.
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

// next is called by who has run a function: the next one, or nil.
func (c *Crew) next() func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.first == len(c.queue) {
		c.running--
		c.queue, c.first = nil, 0 // a long one is not kept
		return nil
	}
	f := c.queue[c.first]
	c.queue[c.first] = nil
	c.first++
	return f
}

// Parked is the context of a call that goes on elsewhere once it has waited. It
// tells one listener that the call was ended, for a third of what context.AfterFunc
// takes; of a deadline it tells nothing.
type Parked struct {
	context.Context
	told func(r any, stack []byte)

	mu     sync.Mutex // guards what follows
	ended  bool
	listen func()
}

// NewParked makes one. Told hears of a panic in what goes on, with its stack.
func NewParked(ctx context.Context, told func(r any, stack []byte)) *Parked {
	return &Parked{Context: ctx, told: told}
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

// End is called by who has ended the context.
func (t *Parked) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	if t.listen != nil {
		go t.listen()
	}
}

// HearEnd calls f on a goroutine of its own when ctx is cancelled, or at once if it has
// ended, unless deaf was called before. A Parked context has one listener at a time, and
// does not tell it of the deadline.
func HearEnd(ctx context.Context, f func()) (deaf func()) {
	t, _ := ctx.Value(parkedKey{}).(*Parked)
	if t == nil {
		return HearDeadline(ctx, f)
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

// HearDeadline is hearEnd that hears of the deadline, whatever ctx is.
func HearDeadline(ctx context.Context, f func()) (deaf func()) {
	stop := context.AfterFunc(ctx, f)
	return func() { stop() }
}

// TellPanic is deferred where a call goes on after its wait. Without a Parked a panic
// ends the process.
func TellPanic(ctx context.Context) {
	t, _ := ctx.Value(parkedKey{}).(*Parked)
	if t == nil {
		return
	}
	if r := recover(); r != nil {
		t.told(r, debug.Stack())
	}
}

// Await turns what goes on in a callback into a call that returns.
func Await[T any](start func(done func(T, error))) (v T, err error) {
	ended := make(chan struct{})
	start(func(x T, e error) {
		v, err = x, e
		close(ended)
	})
	<-ended
	return v, err
}
