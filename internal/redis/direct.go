package redis

import (
	"context"
	"time"
)

// A try does not need a goroutine that waits for it: Submit queues it, and its Completion is
// called on the goroutine of the batch that has read the reply. So a call makes no
// goroutine, context, timer or channel as long as its first try gets a reply.

// Completion is called when a submitted try has ended. Its method must not block: the
// replies of other tries are delivered after it returns.
type Completion interface {
	// Done is called once unless the try was abandoned. The Flusher that it returns is
	// flushed when all replies of the batch were delivered; nil = nothing to flush.
	Done() Flusher
}

// Flusher sends the output of many completions at once.
type Flusher interface{ Flush() }

// Ready finds the node for a try that Submit may send at once, and returns the pipeline
// that keeps the order of the tries submitted to it, for Turn.Await and Turn.Sent. Nil = the
// try needs Route and Send instead: the node is not up, or refuses, or denies a command of
// the script.
func (s *Store) Ready(t *Try) (via any) {
	n := s.only
	if s.ring != nil {
		n, _, _ = s.ring.find(t.key())
	}
	if n == nil || t.ask || t.waits(s) {
		return nil
	}
	if c := n.condition.Load(); !c.up || c.refusing() || n.bars(t.Runs) != nil {
		return nil
	}
	t.node = n
	return n
}

// Submit queues the try on the node that Ready found, behind those that were submitted
// before; turn may be nil. It returns false if the node is closed.
func (t *Try) Submit(turn Turn, to Completion) bool {
	n := t.node
	t.turn, t.Failure, t.known = turn, Failure{}, false
	t.Tries++
	t.loads, t.Sent = n.loads.Load(), time.Now()
	q := t.queued()
	q.try, q.to = t, to
	t.on.Store(q)
	n.running.Add(1)
	n.crowd.Alone(true)
	if !n.batches.submit(q) {
		t.Tries-- // it was not sent
		n.running.Add(-1)
		t.on.Store(nil)
		return false
	}
	return true
}

// Abandon stops waiting for a submitted try: its Completion will not be called. It sets
// Failure, whose verdict is whether the script can have run; err is why the caller does not
// wait any longer. It returns false if the try has ended and its Completion was or is being
// called.
func (t *Try) Abandon(err error) bool {
	q := t.on.Load()
	switch {
	case q == nil:
		return false
	case q.state.CompareAndSwap(stateWaiting, stateWithdrawn):
		t.Failure = Failure{Verdict: Ended, Why: "ended", Err: err}
	default:
		done := make(chan struct{})
		q.done = done
		if !q.state.CompareAndSwap(stateSent, stateAbandoned) {
			return false
		}
		t.Failure = classify(&abandoned{err, done})
	}
	t.on.Store(nil)
	t.Args = nil // the batch may still read them
	t.node.running.Add(-1)
	return true
}

// endUnwaited is end for a try that was submitted.
func (b *batch) endUnwaited(q *queued, reply any, err error) {
	if !q.state.CompareAndSwap(stateSent, stateEnded) {
		close(q.done) // it was abandoned: Settle may wait for its end
		return
	}
	b.node.running.Add(-1)
	t := q.try
	t.on.Store(nil)
	t.Failure = t.ended(context.Background(), reply, err)
	if q.turn != nil && (t.Failure.Verdict == NotRun || t.Failure.Verdict == MaybeRun) {
		q.turn.Failed()
	}
	if f := q.to.Done(); f != nil && (len(b.flushers) == 0 || b.flushers[len(b.flushers)-1] != f) {
		b.flushers = append(b.flushers, f)
	}
}

// flush sends the answers to the calls of a batch, with one write for each connection.
func (b *batch) flush() {
	for i, f := range b.flushers {
		f.Flush()
		b.flushers[i] = nil
	}
	b.flushers = b.flushers[:0]
}
