package stream

import (
	"cmp"
	"container/heap"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

const (
	// dueEvery is the longest time between two runs of DueScript for a stream that has consumers
	// on this sidecar.
	dueEvery = time.Second
	// dueSeldom is the same for a stream that has none but has messages that wait. It may be
	// long: a sidecar that publishes a message that is due before all others tells all sidecars
	// by a broadcast, and looks after the stream itself.
	dueSeldom = 30 * time.Second
	// dueTime bounds one run for all streams that are due.
	dueTime = 5 * time.Second
	// topicStream is the topic of broadcasts about streams.
	topicStream = "stream"
)

// dues adds delayed messages to their streams when they are due, by DueScript. Each sidecar that
// has a reason to runs the script independently, so that no message waits for a sidecar that died;
// the script adds each message once.
//
// A sidecar looks after a stream while it is watched. It also does so, until no message of the
// stream waits, if a message was published here or a run found one that waits. One goroutine looks
// after all streams.
type dues struct {
	runner *lua.Runner
	keys   keys
	clock  coord.Clock
	log    *slog.Logger

	ctx    context.Context // ends with Stop
	cancel context.CancelFunc
	woken  chan struct{} // has an element when the time of the next run may have changed
	done   chan struct{}

	mu    sync.Mutex       // guards what follows
	byLog map[string]*duty // by the key of the stream's log
	next  duties
}

// duty is a stream that is looked after.
type duty struct {
	in       DueIn
	watchers int
	// waits reports that a message may wait that was published here or that a run found.
	waits bool
	// at is when to run the script; place is the index of the duty in dues.next, -1 while the
	// script runs for it.
	at    time.Time
	place int
	// again reports that a run was requested while the script ran, fresh that a message was
	// published here since the script began to run.
	again, fresh bool
	failed       bool // the last run failed
}

// newDues starts the goroutine that looks after streams. Stop ends it.
func newDues(o Options, k keys) *dues {
	d := &dues{
		runner: o.Runner, keys: k, clock: o.Clock, log: o.Log, byLog: map[string]*duty{},
		woken: make(chan struct{}, 1), done: make(chan struct{}),
	}
	if d.clock == nil {
		d.clock = coord.SystemClock{}
	}
	d.log = cmp.Or(d.log, slog.New(slog.DiscardHandler))
	d.ctx, d.cancel = context.WithCancel(context.Background())
	if o.Signals != nil {
		o.Signals.OnForget(func(topic, key string) {
			if topic == topicStream {
				d.lookNow(key)
			}
		}, func() {}) // if a broadcast was lost, the next run finds its message
	}
	go d.follow()
	return d
}

// Stop ends the goroutine, and waits for the run that is under way.
func (d *dues) Stop() {
	d.cancel()
	<-d.done
}

// watch makes the sidecar look after the stream at once and then at least once a second, until
// unwatch was called as often as watch. It does not block.
func (d *dues) watch(stream string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	one := d.of(stream)
	one.watchers++
	d.lookBy(one, d.clock.Now())
}

// unwatch undoes one call of watch. A stream with messages that are known to wait is still looked
// after.
func (d *dues) unwatch(stream string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	one := d.byLog[d.keys.streamKeys(stream).Log]
	if one == nil || one.watchers == 0 {
		return
	}
	one.watchers--
	if one.place >= 0 {
		d.dropIdle(one)
	}
}

// published makes the sidecar look after the stream until none of its messages waits.
func (d *dues) published(stream string, delayMS int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	one := d.of(stream)
	one.waits, one.fresh = true, true
	d.lookBy(one, d.clock.Now().Add(min(time.Duration(delayMS)*time.Millisecond, d.longest(one))))
}

// lookNow makes the script run at once for the stream with that log, if this sidecar looks after it.
func (d *dues) lookNow(log string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if one := d.byLog[log]; one != nil {
		d.lookBy(one, d.clock.Now())
	}
}

// of returns the duty of a stream, and makes it if there is none. The caller holds mu, and then
// makes the duty watched or waiting.
func (d *dues) of(stream string) *duty {
	in := DueIn{Keys: d.keys.streamKeys(stream), DelayedKeys: d.keys.delayedKeys(stream)}
	one := d.byLog[in.Log]
	if one == nil {
		one = &duty{in: in, at: d.clock.Now().Add(dueSeldom)}
		d.byLog[in.Log] = one
		heap.Push(&d.next, one)
	}
	return one
}

// longest returns the longest time between two runs for a stream.
func (*dues) longest(one *duty) time.Duration {
	if one.watchers > 0 {
		return dueEvery
	}
	return dueSeldom
}

// lookBy makes the script run for a stream at that time, or earlier if it is due earlier. It needs
// mu.
func (d *dues) lookBy(one *duty, at time.Time) {
	switch {
	case one.place < 0:
		one.again = true
	case at.Before(one.at):
		one.at = at
		heap.Fix(&d.next, one.place)
		if one.place == 0 {
			d.wake()
		}
	}
}

// dropIdle forgets a stream if it is neither watched nor has messages that may wait. It needs mu.
func (d *dues) dropIdle(one *duty) {
	if one.watchers > 0 || one.waits {
		return
	}
	if one.place >= 0 {
		heap.Remove(&d.next, one.place)
	}
	delete(d.byLog, one.in.Log)
}

func (d *dues) wake() {
	select {
	case d.woken <- struct{}{}:
	default:
	}
}

// follow runs the script for the streams that are due, all at once, until Stop.
func (d *dues) follow() {
	defer close(d.done)
	for d.ctx.Err() == nil {
		now, due := d.ready()
		if len(due) > 0 {
			d.look(due)
			continue
		}
		d.rest(now)
	}
}

// ready removes the streams that are due from next and returns them.
func (d *dues) ready() (now time.Time, due []*duty) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now = d.clock.Now()
	for len(d.next) > 0 && !d.next[0].at.After(now) {
		one := heap.Pop(&d.next).(*duty) //nolint:forcetypeassert // duties holds nothing else
		one.again, one.fresh = false, false
		due = append(due, one)
	}
	return now, due
}

// rest waits until a stream may be due.
func (d *dues) rest(now time.Time) {
	stop := func() bool { return true }
	d.mu.Lock()
	if len(d.next) > 0 {
		stop = d.clock.AfterFunc(d.next[0].at.Sub(now), d.wake)
	}
	d.mu.Unlock()
	defer stop()
	select {
	case <-d.woken:
	case <-d.ctx.Done():
	}
}

func (d *dues) look(due []*duty) {
	ctx, cancel := context.WithTimeout(d.ctx, dueTime)
	defer cancel()
	ins := make([]DueIn, len(due))
	for i, one := range due {
		ins[i] = one.in
	}
	outs, errs := lua.Batch(ctx, d.runner, DueScript, ins)
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.clock.Now()
	for i, one := range due {
		d.looked(one, now, outs[i].Value, errs[i])
	}
}

// looked schedules the next run for a stream after one, or forgets the stream. It needs mu.
func (d *dues) looked(one *duty, now time.Time, v DueOut, err error) {
	wait := d.longest(one)
	switch {
	case err != nil:
		wait = dueEvery
		d.report(one, err)
	case v.NextMS >= 0:
		wait = min(wait, time.Duration(v.NextMS)*time.Millisecond)
		one.waits = true
	case !one.fresh:
		one.waits = false
	}
	one.failed = err != nil
	if one.again {
		wait = 0
	}
	one.at = now.Add(wait)
	if one.watchers > 0 || one.waits {
		heap.Push(&d.next, one)
		return
	}
	d.dropIdle(one)
}

// report logs the first of several consecutive failures. An outage of Redis is logged elsewhere.
func (d *dues) report(one *duty, err error) {
	if one.failed || errors.Is(err, redis.ErrUnavailable) || errors.Is(err, redis.ErrMaybeExecuted) || d.ctx.Err() != nil {
		return
	}
	d.log.Error("delayed messages of a stream cannot be added", slog.String("key", one.in.Log), slog.Any("error", err))
}

// duties is a heap of the streams for which the script does not run now, the soonest first.
type duties []*duty

func (q duties) Len() int           { return len(q) }
func (q duties) Less(i, j int) bool { return q[i].at.Before(q[j].at) }
func (q duties) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}

// Push implements heap.Interface.
func (q *duties) Push(x any) {
	one := x.(*duty) //nolint:forcetypeassert // see ready
	one.place = len(*q)
	*q = append(*q, one)
}

// Pop implements heap.Interface.
func (q *duties) Pop() any {
	last := len(*q) - 1
	one := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	one.place = -1
	return one
}
