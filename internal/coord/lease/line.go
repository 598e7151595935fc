package lease

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

const (
	// heartbeatFor is how long a sidecar's waiters keep their tickets without a heartbeat:
	// a sidecar that was killed holds up the next waiter for no longer than this.
	heartbeatFor = 3 * time.Second
	// heartbeatEvery is the time between heartbeats. Two in a row may be lost.
	heartbeatEvery = time.Second
	// PollEvery is how often the first waiter of a line tries on its own, so that a lost
	// wake-up delays it by a second at most.
	PollEvery = time.Second
	// checked is how many tickets one heartbeat checks, in rotation.
	checked = 100
)

// Lines is this sidecar's part in the waiting lines of all nouns.
//
// A waiter has a ticket in Redis and sleeps in this process, without a connection and without a goroutine. Three
// events make it try again: a message from the script that freed what it waits for; a heartbeat that finds it
// first in the line; and, only while it is the first, a timer of about a second. The timer makes
// waiting independent of messages, which may be lost.
type Lines struct {
	runner   *lua.Runner
	Signals  *coord.Signals
	draining <-chan struct{} // closed when the sidecar drains

	ctx          context.Context // ends with Stop
	cancel       context.CancelFunc
	heartbeating sync.WaitGroup
	crew         *coord.Crew // runs the attempts of waiters

	mu      sync.Mutex // guards what follows
	serial  uint64
	lines   map[LineKeys]*line
	waiters map[string]*waiter
}

// line is a waiting line that has waiters of this sidecar.
type line struct {
	keys    LineKeys
	waiters []*waiter // guarded by Lines.mu
	next    int       // index of the next waiter to be checked, guarded by Lines.mu
	// gone is a waiter that has left but whose ticket is still first, since its removal did not
	// reach Redis; guarded by Lines.mu.
	gone  string
	empty context.CancelFunc // ends the line's heartbeats when its last waiter has left
}

// NewLines takes part in waiting lines until Stop. Once l drains, all calls that wait end with coord.ErrDraining.
func NewLines(r *lua.Runner, s *coord.Signals, l *Leases) *Lines {
	n := &Lines{
		runner: r, Signals: s, draining: l.drained,
		crew: coord.NewCrew(MaxSteps), lines: make(map[LineKeys]*line), waiters: make(map[string]*waiter),
	}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	n.heartbeating.Go(n.drain)
	s.OnTurn(n.turn)
	return n
}

// Stop ends the heartbeats. The remaining waiters keep their tickets for heartbeatFor at most.
func (n *Lines) Stop() {
	n.cancel()
	n.heartbeating.Wait()
}

// Waiting returns the number of calls that wait.
func (n *Lines) Waiting() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.waiters)
}

// Place is what an attempt passes to its script: the waiter, and for how long it keeps its ticket without a
// heartbeat. With a Heartbeat of 0 the waiter leaves the line if it is not served. The zero Place is a call that does
// not wait.
type Place struct {
	Waiter    string
	Heartbeat time.Duration
}

// Look is the part of an attempt's outcome that decides how the call goes on waiting.
type Look struct {
	Served bool
	// First: no waiter of a live sidecar is before it in the line.
	First bool
	// Free is the time until the lease in the way ends if it is not renewed; 0 = not known.
	Free time.Duration
}

// WaitOutcome returns how a wait ended, for metrics.
func WaitOutcome(served bool, err error) string {
	switch {
	case err != nil:
		return "failed"
	case served:
		return "served"
	default:
		return "refused"
	}
}

// Capped returns how long a call may wait within its deadline: a tenth of the remaining
// time is kept for the last attempt and the answer.
func Capped(ctx context.Context, wait time.Duration) time.Duration {
	if end, ok := ctx.Deadline(); ok {
		left := time.Until(end)
		wait = min(wait, left-left/10)
	}
	return wait
}

// passing reports whether an error is a temporary fault of Redis, after which the waiter tries again.
func passing(ctx context.Context, err error) bool {
	return ctx.Err() == nil && (errors.Is(err, redis.ErrUnavailable) || errors.Is(err, redis.ErrMaybeExecuted))
}

// enter registers a waiter in this process. The script of its first attempt gives it a ticket.
func (n *Lines) enter(keys LineKeys) *waiter {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.lines[keys]
	if l == nil {
		l = &line{keys: keys}
		n.lines[keys] = l
		ctx, cancel := context.WithCancel(n.ctx)
		l.empty = cancel
		n.heartbeating.Go(func() { n.heartbeat(ctx, l) })
	}
	n.serial++
	w := &waiter{
		id: n.Signals.Sidecar + ":" + strconv.FormatUint(n.serial, 10), lines: n, line: l,
	}
	n.waiters[w.id] = w
	l.waiters = append(l.waiters, w)
	return w
}

func (n *Lines) leave(w *waiter) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if w.alarm != nil {
		w.alarm.Stop()
	}
	delete(n.waiters, w.id)
	l := w.line
	i := slices.Index(l.waiters, w)
	l.waiters = slices.Delete(l.waiters, i, i+1)
	if len(l.waiters) == 0 {
		l.empty()
		delete(n.lines, l.keys)
	}
}

// turn wakes a waiter of this sidecar.
func (n *Lines) turn(id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.wake(n.waiters[id])
}

// heartbeat keeps the tickets of this sidecar's waiters in one line, until the last waiter has left.
func (n *Lines) heartbeat(ctx context.Context, l *line) {
	timer := time.NewTimer(heartbeatEvery)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		timer.Reset(n.heartbeatOnce(ctx, l))
	}
}

// heartbeatOnce sends one heartbeat and returns the time until the next. It wakes the first waiter of the line if that
// is in this sidecar, and the waiters that have no ticket, for example because Redis lost its last writes: their next
// attempt gets them a new one. The next heartbeat is sent earlier than usual when the sidecar of the first waiter may
// be dead by then.
func (n *Lines) heartbeatOnce(ctx context.Context, l *line) time.Duration {
	ctx, cancel := context.WithTimeout(ctx, heartbeatEvery)
	defer cancel()
	out, err := lua.Run(ctx, n.runner, LineHeartbeat, n.report(l), lua.StoredReply{})
	if err != nil {
		return heartbeatEvery // the next heartbeat finds what this one could not
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for id := range strings.FieldsSeq(out.Value.Missing) {
		n.wake(n.waiters[id])
	}
	l.gone = ""
	head, mine := n.waiters[out.Value.Head], strings.HasPrefix(out.Value.Head, n.Signals.Sidecar+":")
	switch {
	case head != nil:
		if !head.first.Load() {
			n.wake(head)
		}
		return heartbeatEvery
	case mine:
		l.gone = out.Value.Head
		return 0
	case out.Value.Head == "":
		return heartbeatEvery / 10 // the waiters without a ticket have been woken and are about to get one
	default:
		return min(heartbeatEvery, time.Duration(out.Value.HeadMS+1)*time.Millisecond)
	}
}

// report returns the input of the next heartbeat. Of many waiters it checks some, in
// rotation. A waiter whose first attempt has not run yet is found to have no ticket and tries
// once more, which does no harm.
func (n *Lines) report(l *line) LineHeartbeatIn {
	n.mu.Lock()
	defer n.mu.Unlock()
	in := LineHeartbeatIn{
		LineKeys: l.keys, Sidecar: n.Signals.Sidecar, HeartbeatMS: heartbeatFor.Milliseconds(), Gone: l.gone,
	}
	some := make([]string, 0, min(checked, len(l.waiters)))
	for range cap(some) {
		if l.next >= len(l.waiters) {
			l.next = 0
		}
		some = append(some, l.waiters[l.next].id)
		l.next++
	}
	in.Waiters = strings.Join(some, " ")
	return in
}

// LineKeysOf returns the keys of the waiting line for the name, of any noun, whose state has this key.
func LineKeysOf(state string) LineKeys {
	return LineKeys{Line: state + ":line", Heartbeats: state + ":beats"}
}
