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
	// heartbeatFor is how long a sidecar's waiters keep their places without a heartbeat:
	// a sidecar that was killed holds the next waiter up for no longer.
	heartbeatFor = 3 * time.Second
	// heartbeatEvery leaves two heartbeats that may be lost.
	heartbeatEvery = time.Second
	// PollEvery is how often the first of a line looks by itself, so that a wake-up
	// which was lost costs a second and no more.
	PollEvery = time.Second
	// checked is how many places one heartbeat checks, in rotation.
	checked = 100
)

// Lines is this sidecar's part in the waiting lines of all nouns.
//
// A waiter has a ticket in Redis and sleeps here, holding no connection and no goroutine. Three
// things make it look again: the message of whoever freed what it waits for, the
// heartbeat, which finds out whose turn it is, and, for the first in the line alone, a
// look about every second. Only the first needs any of them.
type Lines struct {
	runner   *lua.Runner
	Signals  *coord.Signals
	draining <-chan struct{} // closed when nothing more is given out

	ctx          context.Context // ends with Stop
	cancel       context.CancelFunc
	heartbeating sync.WaitGroup
	crew         *coord.Crew // looks for those who wait

	mu      sync.Mutex // guards what follows
	serial  uint64
	lines   map[LineKeys]*line
	waiters map[string]*waiter
}

// line is one with waiters of this sidecar.
type line struct {
	keys    LineKeys
	waiters []*waiter // guarded by Lines.mu
	next    int       // of waiters to be checked, guarded by Lines.mu
	// gone is a waiter that left and whose place is in front still, since Redis
	// could not be told; guarded by Lines.mu.
	gone  string
	empty context.CancelFunc
}

// NewLines takes part in lines until Stop. Once leases drain, whoever waits is
// told so.
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

// Stop ends the heartbeats. Whoever still waits keeps its place for heartbeatFor at most.
func (n *Lines) Stop() {
	n.cancel()
	n.heartbeating.Wait()
}

// Waiting counts the calls that wait.
func (n *Lines) Waiting() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.waiters)
}

// Place is what a try tells its script: who waits, and for how long the place is
// kept. Without heartbeat the waiter leaves the line if it is not served.
type Place struct {
	Waiter    string
	Heartbeat time.Duration
}

// Look is the outcome of a try, as far as waiting goes by it.
type Look struct {
	Served bool
	// First: nobody alive is before it in the line.
	First bool
	// Free is when what is in the way ends by itself; 0 = it is not known.
	Free time.Duration
}

// WaitOutcome is how a wait ended, for metrics.
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

// Capped is how long a call may wait within its own deadline: a tenth of its
// time is left to answer that the wait was in vain.
func Capped(ctx context.Context, wait time.Duration) time.Duration {
	if end, ok := ctx.Deadline(); ok {
		left := time.Until(end)
		wait = min(wait, left-left/10)
	}
	return wait
}

// passing are faults that the next look may not meet.
func passing(ctx context.Context, err error) bool {
	return ctx.Err() == nil && (errors.Is(err, redis.ErrUnavailable) || errors.Is(err, redis.ErrMaybeExecuted))
}

// enter makes a waiter known here; its ticket is the script's to give.
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

// Heartbeat keeps the places of one line's waiters until the last has left.
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

// heartbeatOnce says that this sidecar is alive, wakes whose turn it is, and sends
// back into the line who lost its place, as when Redis lost its last writes. It
// returns when to send the next heartbeat: at once when the first one's sidecar may be dead.
func (n *Lines) heartbeatOnce(ctx context.Context, l *line) time.Duration {
	ctx, cancel := context.WithTimeout(ctx, heartbeatEvery)
	defer cancel()
	out, err := lua.Run(ctx, n.runner, LineHeartbeat, n.report(l), lua.StoredReply{})
	if err != nil {
		return heartbeatEvery // whoever is late finds out by its next heartbeat
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
		return heartbeatEvery / 10 // those who are to enter have been woken
	default:
		return min(heartbeatEvery, time.Duration(out.Value.HeadMS+1)*time.Millisecond)
	}
}

// report is what the next heartbeat says. Of many waiters it checks some, in
// rotation. One that has not entered yet is told that its place is missing, and
// loses nothing by looking twice.
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

// LineKeysOf are those of the waiting line for what has this state: one for each name, whatever
// its noun.
func LineKeysOf(state string) LineKeys {
	return LineKeys{Line: state + ":line", Heartbeats: state + ":beats"}
}
