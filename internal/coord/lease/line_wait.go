package lease

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// MaxSteps bounds the waiters that look at once: each has a stack while it does.
const MaxSteps = 1024

// waiter is one call that waits. It has a goroutine only while it looks; in between
// it is this struct and a timer, since thousands may wait.
type waiter struct {
	id    string
	lines *Lines
	line  *line
	// first is set while it knows that it is the first in the line, and looks by itself.
	first atomic.Bool

	ctx   context.Context // of the call, which is set aside
	end   time.Time       // when it has to leave the line
	call  standing
	alarm *time.Timer
	deaf  func() // it no longer hears of the end of ctx

	// Only the goroutine that looks uses what follows.
	at             Place
	entered, early bool

	// parked and woken are guarded by Lines.mu. Who is woken while it looks does so
	// once more: one message is as good as many.
	parked, woken bool
}

// standing is the call of a waiter: how it looks, and how it goes on when the wait is
// over.
type standing interface {
	look(ctx context.Context, at Place) (Look, error)
	then(waiter string, err error)
}

// trying is a standing whose tries answer a T.
type trying[T looked] struct {
	try  func(context.Context, Place) (T, error)
	done func(last T, waiter string, err error)
	// last is the answer of the last try. A call that goes on waiting does not keep it.
	last *T
}

// looked is an answer that tells what was found.
type looked interface{ found() Look }

func (l Look) found() Look { return l }

func (t *trying[T]) look(ctx context.Context, at Place) (Look, error) {
	answer, err := t.try(ctx, at)
	found := answer.found()
	if t.last = nil; found.Served || at.Heartbeat == 0 || err != nil {
		t.last = &answer
	}
	return found, err
}

func (t *trying[T]) then(waiter string, err error) {
	var last T
	if t.last != nil {
		last = *t.last
	}
	t.done(last, waiter, err)
}

// Stand repeats try in the caller's turn until it is served, and once more, to
// leave the line, when limit is over, or nearly all of the call's time; that try's
// answer stands. Without a limit it tries once, for nobody's turn. When done gets
// an error the caller may still be in the line, and must be taken out of it by
// the noun's own script, which knows whether it was served meanwhile.
//
// It returns as soon as there is nothing to do but wait; done is called before, or
// later on a goroutine of the lines. Once in the line a passing fault of Redis is
// waited out.
func Stand[T looked](
	ctx context.Context, n *Lines, keys LineKeys, limit time.Duration,
	try func(context.Context, Place) (T, error), done func(last T, waiter string, err error),
) {
	if limit = Capped(ctx, limit); limit <= 0 {
		last, err := try(ctx, Place{})
		done(last, "", err)
		return
	}
	w := n.enter(keys)
	w.ctx, w.end, w.call, w.at = ctx, time.Now().Add(limit), &trying[T]{try: try, done: done}, Place{w.id, heartbeatFor}
	w.deaf = coord.HearEnd(ctx, func() { n.rouse(w) })
	w.run()
}

// resume goes on with a waiter that was parked.
func (w *waiter) resume() {
	defer coord.TellPanic(w.ctx)
	if err := w.over(); err != nil {
		w.finish(err)
		return
	}
	w.run()
}

// run looks until the wait is over or there is nothing to do.
func (w *waiter) run() {
	gone := false // as in a panic it is not
	defer func() {
		if !gone {
			w.leave()
		}
	}()
	for {
		found, err := w.call.look(w.ctx, w.at)
		switch {
		case w.at.Heartbeat == 0, err == nil && found.Served, err != nil && (!w.entered || !passing(w.ctx, err)):
		case w.park(w.pause(found, err)):
			gone = true
			return
		default:
			if err = w.over(); err == nil {
				continue
			}
		}
		gone = true
		w.finish(err)
		return
	}
}

// pause is for how long it waits for a message, at most; -1 = until there is one.
func (w *waiter) pause(found Look, err error) time.Duration {
	w.entered = true
	w.first.Store(err == nil && found.First)
	switch {
	case err != nil:
		return PollEvery
	case !found.First:
		return -1
	}
	// Its holder may be gone for good: look when its time is over. One that
	// renews is then looked at no more often than any other.
	if !w.early && found.Free > 0 && found.Free < PollEvery {
		w.early = true
		return found.Free
	}
	return PollEvery
}

// park has the waiter wait, and reports false when it was woken already.
func (w *waiter) park(pause time.Duration) bool {
	n := w.lines
	n.mu.Lock()
	defer n.mu.Unlock()
	if w.woken || w.ctx.Err() != nil || n.drained() {
		w.woken = false
		return false
	}
	w.parked = true
	left := time.Until(w.end)
	if pause >= 0 {
		left = min(left, pause)
	}
	if w.alarm == nil {
		w.alarm = time.AfterFunc(left, func() { n.rouse(w) })
	} else {
		w.alarm.Reset(left)
	}
	return true
}

// over tells whether the call has ended. A wait whose time is over leaves the line
// with the next look.
func (w *waiter) over() error {
	switch err := w.ctx.Err(); {
	case err != nil:
		return err
	case w.lines.drained():
		return coord.ErrDraining
	case !time.Now().Before(w.end):
		w.at.Heartbeat = 0
	}
	return nil
}

func (w *waiter) finish(err error) {
	w.leave()
	w.call.then(w.id, err)
}

func (w *waiter) leave() {
	w.deaf()
	w.lines.leave(w)
}

// rouse is wake for callers that do not hold n.mu.
func (n *Lines) rouse(w *waiter) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.wake(w)
}

// wake has a waiter look again. It needs n.mu.
func (n *Lines) wake(w *waiter) {
	switch {
	case w == nil:
	case !w.parked:
		w.woken = true
	default:
		w.parked = false
		w.alarm.Stop()
		n.crew.Go(w.resume)
	}
}

// drained reports whether nothing more is given out.
func (n *Lines) drained() bool {
	select {
	case <-n.draining:
		return true
	default:
		return false
	}
}

// drain tells all that wait, once nothing more is given out.
func (n *Lines) drain() {
	select {
	case <-n.draining:
	case <-n.ctx.Done():
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, w := range n.waiters {
		n.wake(w)
	}
}
