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
	// dueEvery is how long after a look the next one is at the latest, of a stream that
	// has consumers here.
	dueEvery = time.Second
	// dueSeldom is the same of one that has none, and messages that wait: who publishes one
	// that is due before them tells all sidecars, and looks itself.
	dueSeldom = 30 * time.Second
	// dueTime bounds one look at all streams whose time has come.
	dueTime = 5 * time.Second
	// topicStream is that of broadcasts about streams.
	topicStream = "stream"
)

// dues adds delayed messages to their streams when they are due. Every sidecar that has a
// reason to looks for itself, and the script has each message added once, so that none
// waits for a sidecar that died.
//
// A stream is looked after while it is watched, and until none of its messages waits if one
// was published here or was seen to wait. One goroutine does so for all streams.
type dues struct {
	runner *lua.Runner
	keys   keys
	clock  coord.Clock
	log    *slog.Logger

	ctx    context.Context // ends with Stop
	cancel context.CancelFunc
	woken  chan struct{} // has one while the next look may be another than before
	done   chan struct{}

	mu    sync.Mutex       // guards what follows
	byLog map[string]*duty // by the key of the stream's log
	next  duties
}

// duty is one stream that is looked after.
type duty struct {
	in       DueIn
	watchers int
	// waits: a message may wait that was published here or that a look has seen.
	waits bool
	// at is when to look, place where the duty is among others, -1 = it is being looked at.
	at    time.Time
	place int
	// again: something happened while it was looked at, and fresh that a message of here
	// was published.
	again, fresh bool
	failed       bool // the last look has failed, and that was told
}

// newDues begins to look after streams. Stop ends it.
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
				d.told(key)
			}
		}, func() {}) // what may have been lost is found by the next look
	}
	go d.follow()
	return d
}

// Stop ends it, and waits for the look that is under way.
func (d *dues) Stop() {
	d.cancel()
	<-d.done
}

// watch has the stream looked after at once and then at least once a second, until unwatch
// was called as often. It does not block.
func (d *dues) watch(stream string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	one := d.of(stream)
	one.watchers++
	d.lookBy(one, d.clock.Now())
}

// unwatch ends one watch. Messages that are known to wait are still looked after.
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

// published has the stream looked after until none of its messages waits.
func (d *dues) published(stream string, delayMS int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	one := d.of(stream)
	one.waits, one.fresh = true, true
	d.lookBy(one, d.clock.Now().Add(min(time.Duration(delayMS)*time.Millisecond, d.longest(one))))
}

// told has a stream looked after at once, by the key of its log, if it is here.
func (d *dues) told(log string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if one := d.byLog[log]; one != nil {
		d.lookBy(one, d.clock.Now())
	}
}

// of is the duty of a stream, which is made if there is none; the caller holds mu, and has a
// reason for it.
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

// longest is how long a stream is not looked at.
func (*dues) longest(one *duty) time.Duration {
	if one.watchers > 0 {
		return dueEvery
	}
	return dueSeldom
}

// lookBy has a stream looked at then, unless that is done before.
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

// dropIdle forgets a stream that there is no reason to look after.
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

// follow looks at streams whose time has come, all at once.
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

// ready takes those out whose time has come.
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

// rest waits until a look may be due.
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

// looked has a stream looked at again when there is a reason to.
func (d *dues) looked(one *duty, now time.Time, v DueOut, err error) {
	wait := d.longest(one)
	switch {
	case err != nil:
		wait = dueEvery
		d.tell(one, err)
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

// tell logs the first failure of several in a row that is not an outage, which is told
// elsewhere.
func (d *dues) tell(one *duty, err error) {
	if one.failed || errors.Is(err, redis.ErrUnavailable) || errors.Is(err, redis.ErrMaybeExecuted) || d.ctx.Err() != nil {
		return
	}
	d.log.Error("delayed messages of a stream cannot be added", slog.String("key", one.in.Log), slog.Any("error", err))
}

// duties are those that are not being looked at, the soonest first.
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
