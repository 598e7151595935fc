package lease

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// MaxSteps bounds the waiters that try at the same time: each has a goroutine, with its stack, while it does.
const MaxSteps = 1024

// waiter is one call that waits. It has a goroutine only during an attempt; in between
// it is this struct and a timer, since thousands may wait.
type waiter struct {
	id    string
	lines *Lines
	line  *line
	// first is set while the last attempt found it first in the line; its timer then makes it try again.
	first atomic.Bool

	ctx        context.Context // of the call
	end        time.Time       // when it has to leave the line
	call       callInLine
	alarm      *time.Timer
	stopListen func() // ends waking the waiter at the end of ctx

	// Only the goroutine of an attempt uses what follows.
	at             Place
	entered, early bool // it got a ticket; it has tried once at the end of the holder's TTL

	// parked and woken are guarded by Lines.mu. A waiter that is woken during an attempt makes
	// one more, however many messages woke it.
	parked, woken bool
}

// callInLine makes the attempts of a waiter's call: look makes one, and then ends the call when the wait is
// over.
type callInLine interface {
	look(ctx context.Context, at Place) (Look, error)
	then(waiter string, err error)
}

// trying is a callInLine whose attempts return a T.
type trying[T looked] struct {
	try  func(context.Context, Place) (T, error)
	done func(last T, waiter string, err error)
	// last is the outcome of the last attempt. It is not kept while the call waits.
	last *T
}

// looked is an outcome that contains a Look.
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

// WaitInLine waits in line: it repeats try, whenever it may be the caller's turn, until it is served. When limit is over, or
// nine tenths of the time until the call's deadline, it calls try once more with a Heartbeat of 0, which also removes
// the caller from the line; the outcome of that attempt counts. With a limit of 0 it calls try once, without
// a ticket. If done gets an error, the caller may still be in the line. The noun must then remove it by the script
// that gives back, which also releases what the caller may have been granted meanwhile.
//
// WaitInLine returns as soon as there is nothing to do but wait; done is called before it returns, or
// later on a goroutine of the lines. Once the caller is in the line, temporary faults of Redis do not end the
// wait.
func WaitInLine[T looked](
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
	w.stopListen = coord.OnEnd(ctx, func() { n.rouse(w) })
	w.run()
}

// resume continues a waiter that was parked.
func (w *waiter) resume() {
	defer coord.TellPanic(w.ctx)
	if err := w.over(); err != nil {
		w.finish(err)
		return
	}
	w.run()
}

// run makes attempts until the wait is over or there is nothing to do but wait.
func (w *waiter) run() {
	gone := false // still false after a panic, so that the waiter leaves
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

// pause returns for how long to wait for a message before the next attempt; -1 = until there is one.
func (w *waiter) pause(found Look, err error) time.Duration {
	w.entered = true
	w.first.Store(err == nil && found.First)
	switch {
	case err != nil:
		return PollEvery
	case !found.First:
		return -1
	}
	// The holder may be dead, so the waiter tries when the holder's TTL ends. It does so once: if the holder
	// renews, it tries no more often than others.
	if !w.early && found.Free > 0 && found.Free < PollEvery {
		w.early = true
		return found.Free
	}
	return PollEvery
}

// park makes the waiter wait. It returns false if the waiter was woken already.
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

// over returns an error if the call has ended or the sidecar drains. If the time of the wait is over, it clears the
// Heartbeat, so that the next attempt leaves the line.
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
	w.stopListen()
	w.lines.leave(w)
}

// rouse is wake for callers that do not hold n.mu.
func (n *Lines) rouse(w *waiter) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.wake(w)
}

// wake makes a waiter try again. It needs n.mu.
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

// drained reports whether the sidecar drains.
func (n *Lines) drained() bool {
	select {
	case <-n.draining:
		return true
	default:
		return false
	}
}

// drain wakes all waiters once the sidecar drains; each then ends with coord.ErrDraining.
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
