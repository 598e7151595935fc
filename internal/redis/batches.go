package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// batches collects the tries for one node and sends them, one pipeline at a time. While one
// pipeline is under way the tries of the next one are collected, so that batches grow with
// the load. Within a pipeline the tries of one script go in one EVALSHA, by the script's
// form for many items: the server then parses one command, makes the script's functions
// once and reads the clock once.
//
// If more tries wait when the replies of a batch have come, the next batch is sent before
// those replies are delivered, so that the server works meanwhile.
//
// Tries with keys of the same hash tag are executed in the order in which they were
// submitted, and batches are settled in the order in which they were sent.
type batches struct {
	node *node
	wake chan struct{} // filled when a try waits
	// idle holds the batches that are neither under way nor being settled. There are two
	// batches, so that one can be sent while the other is settled.
	idle chan *batch
	// answered holds the batches whose replies settle has to deliver.
	answered chan *batch

	mu      sync.Mutex // guards what follows
	waiting []*queued
	closed  bool
}

// batch holds the tries of one pipeline. One goroutine at a time uses it.
type batch struct {
	node  *node
	items []*queued
	runs  []run
	open  map[runKey]int // the run of runs that takes more items
	last  map[string]int // the last run that has an item with this tag
	// flushers are flushed at the end of settle.
	flushers []Flusher
}

const (
	// batchSize bounds the tries of one pipeline: its replies are read only after it is
	// written.
	batchSize = 256
	// runTime bounds how long one EVALSHA keeps the server from executing other commands.
	runTime = 2 * time.Millisecond
)

func newBatches(n *node) *batches {
	const both = 2
	b := &batches{node: n, wake: make(chan struct{}, 1), idle: make(chan *batch, both), answered: make(chan *batch, both)}
	for range both {
		b.idle <- newBatch(n)
	}
	return b
}

func newBatch(n *node) *batch {
	return &batch{node: n, open: map[runKey]int{}, last: map[string]int{}}
}

// queued is one try on its way through a batch. It is separate from the Try, since the
// caller may use the Try again as soon as its context has ended.
type queued struct {
	args   []any
	script string
	many   string
	takes  time.Duration
	turn   Turn

	state atomic.Uint32 // stateWaiting at first
	// try and to are set for a try that was submitted, so that no goroutine waits for it.
	try *Try
	to  Completion
	// reply and err are set before done is closed. A submitted try has a done only
	// after it was abandoned.
	reply any
	err   error
	done  chan struct{}
}

// The states of a queued try.
const (
	stateWaiting uint32 = iota
	stateSent
	stateWithdrawn // it will not be sent
	stateAbandoned // it was sent, and its reply is dropped
	stateEnded
)

func (t *Try) queued() *queued {
	return &queued{args: t.Args, script: t.Script, many: t.Many, takes: t.Takes, turn: t.turn}
}

// carryOut sends a try in a batch and waits for its reply. If ctx ends before the try was
// sent, it is withdrawn.
func (b *batches) carryOut(ctx context.Context, t *Try) (any, error) {
	q := t.queued()
	q.done = make(chan struct{})
	if !b.submit(q) {
		return nil, errClosed
	}
	if q.turn != nil {
		q.turn.Sent(b.node)
	}
	select {
	case <-q.done:
		return q.reply, q.err
	case <-ctx.Done():
	}
	if q.state.CompareAndSwap(stateWaiting, stateWithdrawn) {
		return nil, ctx.Err()
	}
	return nil, &abandoned{ctx.Err(), q.done}
}

// submit queues a try. It returns false if the node is closed.
func (b *batches) submit(q *queued) bool {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return false
	}
	b.waiting = append(b.waiting, q)
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default: // filled already
	}
	return true
}

// end delivers the reply or the error of a try. If the try may be repeated, the calls
// behind it are held back from the next batch on.
func (b *batch) end(q *queued, reply any, err error) {
	if q.to != nil {
		b.endUnwaited(q, reply, err)
		return
	}
	q.reply, q.err = reply, err
	if q.turn != nil && mayGoAgain(err) {
		q.turn.Failed()
	}
	close(q.done)
}

func mayGoAgain(err error) bool {
	v := classify(err).Verdict
	return v == NotRun || v == MaybeRun
}

// run sends batches until the node is closed.
func (b *batches) run() {
	defer close(b.answered)
	for {
		select {
		case <-b.wake:
		case <-b.node.ctx.Done():
			b.close()
			return
		}
		for b.sendNext() {
		}
	}
}

// sendNext sends the waiting tries as one batch, and settles it or passes it to settle. It
// returns false if none waits.
func (b *batches) sendNext() bool {
	next := <-b.idle
	if !b.gather(next) {
		next.flush() // gather may have ended tries that are held back
		b.idle <- next
		return false
	}
	next.arrange()
	next.exec()
	switch {
	case next.failed():
		// The failure has to be recorded before the calls behind it are gathered, since gather
		// ends them instead of sending them.
		other := <-b.idle
		next.settle()
		b.idle <- other
		b.idle <- next
	case len(b.idle) == 1 && !b.more():
		next.settle()
		b.idle <- next
	default:
		b.answered <- next
	}
	return true
}

// more reports whether tries wait.
func (b *batches) more() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting) > 0
}

// settle settles batches while the next one is under way. It returns after run has ended.
func (b *batches) settle() {
	for next := range b.answered {
		next.settle()
		b.idle <- next
	}
}

// close ends the waiting tries with errClosed.
func (b *batches) close() {
	b.mu.Lock()
	b.closed = true
	left := b.waiting
	b.waiting = nil
	b.mu.Unlock()
	last := <-b.idle
	for _, q := range left {
		if q.state.CompareAndSwap(stateWaiting, stateSent) {
			last.end(q, nil, errClosed)
		}
	}
	last.flush()
}

// gather takes the tries of the next batch, without those that were withdrawn and those
// whose call ahead failed in an earlier batch. It returns false if there are none.
func (b *batches) gather(next *batch) bool {
	clear(next.items)
	next.items = next.items[:0]
	for len(next.items) == 0 {
		b.mu.Lock()
		n := min(len(b.waiting), batchSize)
		next.items = append(next.items, b.waiting[:n]...)
		rest := copy(b.waiting, b.waiting[n:])
		clear(b.waiting[rest:])
		b.waiting = b.waiting[:rest]
		b.mu.Unlock()
		if n == 0 {
			return false
		}
		kept := next.items[:0]
		for _, q := range next.items {
			switch {
			case !q.state.CompareAndSwap(stateWaiting, stateSent):
			case q.turn != nil && q.turn.Behind():
				next.end(q, nil, errBehind)
			default:
				kept = append(kept, q)
			}
		}
		clear(next.items[len(kept):])
		next.items = kept
	}
	return true
}

// before is how many arguments of EVALSHA come before the keys: the command itself, the
// script and the count of keys.
const before = 3

// A run is one EVALSHA of a pipeline.
type run struct {
	items []*queued
	takes time.Duration
	args  []any // of a run with several items
	cmd   sha1Call
}

// runKey is what the items of one run have in common. The number of keys separates items
// with a request id from those without. In a cluster, or where the server has refused keys
// of several slots in one command, a run has items of one tag only.
type runKey struct {
	many string
	keys int
	tag  string
}

// arrange puts the batch into runs.
func (b *batch) arrange() {
	for i := range b.runs {
		clear(b.runs[i].items)
		clear(b.runs[i].args)
	}
	b.runs = b.runs[:0]
	clear(b.open)
	clear(b.last)
	apart, mixed := b.node.of.ring != nil || b.node.apart.Load(), false
	for _, q := range b.items[1:] {
		mixed = mixed || q.many != b.items[0].many || q.many == ""
	}
	for _, q := range b.items {
		keys, _ := q.args[2].(int)
		key := runKey{many: q.many, keys: keys}
		tag := ""
		if (apart || mixed) && keys > 0 {
			tag = tagOf(TextOf(q.args[before]))
		}
		if apart {
			key.tag = tag
		}
		at, ok := b.open[key]
		// An item must not go into a run before one that has an item of its tag: it would be
		// executed before that one.
		if !ok || q.many == "" || at < b.last[tag] || b.runs[at].takes+q.takes > runTime {
			at = b.begin()
			b.open[key] = at
		}
		b.runs[at].items = append(b.runs[at].items, q)
		b.runs[at].takes += q.takes
		b.last[tag] = at
	}
}

// begin adds a run, and reuses the memory of an earlier one.
func (b *batch) begin() int {
	at := len(b.runs)
	if at == cap(b.runs) {
		b.runs = append(b.runs, run{})
	}
	b.runs = b.runs[:at+1]
	r := &b.runs[at]
	r.items, r.args, r.takes = r.items[:0], r.args[:0], 0
	return at
}

// exec writes all runs in one pipeline and reads their replies.
func (b *batch) exec() {
	ctx := context.Background() // the connection has the limits of a command
	for i := range b.runs {
		r := &b.runs[i]
		r.cmd = sha1Call{redis.NewCmd(ctx, r.command()...)}
	}
	if len(b.runs) == 1 {
		_ = b.node.client.Process(ctx, b.runs[0].cmd) // the error is also in the command
		return
	}
	p := b.node.client.Pipeline()
	for i := range b.runs {
		_ = p.Process(ctx, b.runs[i].cmd) // only queued
	}
	_, err := p.Exec(ctx)
	// go-redis does not set the error of a refused handshake on the commands.
	var before *unsent
	if errors.As(err, &before) {
		for i := range b.runs {
			b.runs[i].cmd.SetErr(err)
		}
	}
}

// command returns the command of a run. With several items it has the keys of all items and
// then their arguments as AppendColumns makes them.
func (r *run) command() []any {
	if len(r.items) == 1 {
		return r.items[0].args
	}
	first := r.items[0]
	keys, _ := first.args[2].(int)
	r.args = append(r.args, EvalSHA, first.many, keys*len(r.items))
	for _, q := range r.items {
		r.args = append(r.args, q.args[before:before+keys]...)
	}
	r.args = AppendColumns(r.args, len(r.items), func(i int) []any { return r.items[i].args[before+keys:] })
	return r.args
}

// failed reports whether any item of the batch has an error or no reply.
func (b *batch) failed() bool {
	for i := range b.runs {
		r := &b.runs[i]
		if r.cmd.Err() != nil {
			return true
		}
		if len(r.items) == 1 {
			continue
		}
		replies, _ := r.cmd.Val().([]any)
		if len(replies) != len(r.items) || slices.ContainsFunc(replies, isText) {
			return true
		}
	}
	return false
}

// isText reports whether an item failed: its reply is then the text of its error, as
// lua.Source.assemble makes the form for many.
func isText(reply any) bool {
	_, text := reply.(string)
	return text
}

// settle delivers each item's reply, and flushes what the completions have put together.
func (b *batch) settle() {
	for i := range b.runs {
		r := &b.runs[i]
		b.node.of.tel.Batch(context.Background(), r.items[0].script, int64(len(r.items)))
		err := r.cmd.read(r.cmd.Err())
		if len(r.items) == 1 {
			b.end(r.items[0], r.cmd.Val(), err)
			continue
		}
		if f := classify(err); f.Why == whyCrossSlot {
			b.node.apart.Store(true)
		}
		replies, _ := r.cmd.Val().([]any)
		if err == nil && len(replies) != len(r.items) {
			err = fmt.Errorf("%d replies for %d items", len(replies), len(r.items))
		}
		for j, q := range r.items {
			if err != nil {
				b.end(q, nil, err)
				continue
			}
			if text, failed := replies[j].(string); failed {
				b.end(q, nil, itemError{words(text)})
				continue
			}
			b.end(q, replies[j], nil)
		}
	}
	b.flush()
}

// itemError is the error of one item of a run; the other items have replies of their own.
type itemError struct{ words }
