package rpc

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// On the direct path the goroutine that reads a connection submits the script of a call, and
// the goroutine that reads the reply of Redis answers the call. No goroutine, context, timer
// or channel is made for it, and the replies of a batch leave with one write for each
// connection. A call that is not answered in this way goes on where its first try ended, on
// a goroutine of its own.

// direct is the state that the calls on the direct path of a server share.
type direct struct {
	asked atomic.Int64 // how many calls are on the direct path
	crowd coord.Crowd

	kick     chan struct{} // wakes the sweeper
	stop     chan struct{} // ends it
	stopping sync.Once
	sweeping sync.WaitGroup
}

const (
	// sweepEvery is how often the sweeper looks for calls on the direct path whose deadline has
	// passed: such a call may be answered this much late.
	sweepEvery = 20 * time.Millisecond
	// sweepsIdle is after how many sweeps without a call the sweeper sleeps until the next call.
	sweepsIdle = 50
	// shortDeadline is the time below which a call's deadline is too near for the sweeper.
	shortDeadline = 5 * sweepEvery
)

// Why a call took the direct path or not; labels of a metric.
const (
	directAnswered  = "answered"  // the first try of its script answered it
	directKnown     = "known"     // it was answered without Redis
	directAlone     = "alone"     // it was the only call, for which a hand-off costs more than it saves
	directOrder     = "order"     // it must wait for a call ahead of it
	directElsewhere = "elsewhere" // more than one script decides about it
	directTraced    = "traced"    // its trace is sampled
	directDeadline  = "deadline"  // its deadline is near
	directDown      = "down"      // Redis is not up, or refuses
	directFailed    = "failed"    // its first try got no reply
	directMore      = "more"      // its first try got a reply, and the call needs more than that
	directStopped   = "stopped"   // it was cancelled, or its deadline passed
)

// ask puts a call on the direct path. If it returns false, the call must run on a goroutine,
// which goes on after the preparation if the call was prepared.
func (c *conn) ask(k *call, last bool) bool {
	why := c.tryAsking(k, last)
	c.server.opts.Telemetry.Direct(context.Background(), why)
	return why == directAnswered || why == directKnown
}

// tryAsking returns directAnswered for a call whose script was submitted.
func (c *conn) tryAsking(k *call, last bool) string {
	s := c.server
	switch {
	case last && s.direct.crowd.Alone(s.direct.asked.Load() > 0):
		return directAlone
	case k.meta.hasDeadline && k.meta.deadline < shortDeadline:
		return directDeadline
	case k.turn != nil && !k.piped:
		return directOrder
	}
	if k.turn != nil && !c.follows(k) {
		return directOrder
	}
	if err := s.ids.check(k); err != nil {
		c.answerAsked(k, err)
		return directKnown
	}
	if s.tracing {
		k.startSpan(context.Background(), s.opts.Telemetry.Tracer())
		if k.span.IsRecording() {
			return directTraced
		}
	}
	k.prepared = true
	switch prepared, err := k.prepareHalves(); {
	case prepared == coord.Elsewhere && err == nil:
		return directElsewhere
	case prepared != coord.Asking:
		if err == nil {
			_, err = k.reply() // a result without Redis is short, and need not be shortened
		}
		c.answerAsked(k, err)
		return directKnown
	}
	return c.submit(k)
}

// follows reports whether all calls ahead have started, so that the call may use state of
// this process.
func (c *conn) follows(k *call) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return k.may(follow)
}

func (k *call) prepareHalves() (p coord.Prepared, err error) {
	defer func() { err = recovered(recover(), err) }()
	return k.body.halves().Prepare(k.caller())
}

// answerAsked answers a registered call on the goroutine that reads its connection.
func (c *conn) answerAsked(k *call, err error) {
	c.mu.Lock()
	cancelled := c.leave(k)
	c.mu.Unlock()
	c.answer(k, err, cancelled)
}

// submit sends the script of a call that was prepared, behind those of the calls ahead.
func (c *conn) submit(k *call) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	why := c.submitLocked(k)
	if why != directAnswered {
		// A prepared call is not prepared again, and must be completed even if its caller
		// goes away.
		k.state, k.resumed = stateRunning, true
	}
	return why
}

func (c *conn) submitLocked(k *call) string {
	script := k.body.halves().Asked()
	via := script.Ready()
	if via == nil || c.closed {
		return directDown
	}
	if !k.may(func(ahead *place) bool { return ahead.sent == via }) {
		return directOrder
	}
	var t coord.Turn
	if len(k.places) > 0 {
		if k.turn == nil {
			k.turn = &turn{conn: c, call: k}
		}
		t = k.turn
	}
	if !script.Submit(t, k) {
		return directDown
	}
	k.state = stateAsked
	for i := range k.places {
		if p := &k.places[i]; k.piped && !p.failed {
			p.sent = via
			p.behind.nudge()
		}
	}
	c.server.workers.wg.Add(1) // cannot race with Wait: this goroutine is itself counted
	if c.server.direct.asked.Add(1) == 1 {
		select {
		case c.server.direct.kick <- struct{}{}:
		default: // the sweeper is already running
		}
	}
	return directAnswered
}

// Done implements coord.Completion: it answers the call.
func (k *call) Done() coord.Flusher {
	c := k.conn
	defer c.server.workers.wg.Done()
	c.server.direct.asked.Add(-1)
	answered := k.body.halves().Asked().Answered()
	more, err := k.conclude()
	if more {
		why := directFailed
		if answered {
			why = directMore
		}
		c.server.opts.Telemetry.Direct(context.Background(), why)
		c.mu.Lock()
		c.resume(k)
		c.mu.Unlock()
		return nil
	}
	c.mu.Lock()
	cancelled := c.leave(k)
	if err == nil {
		c.appendLocked(k.out)
		c.mu.Unlock()
		k.end(codeOK)
		c.tellDraining()
		return c
	}
	c.answering++
	c.mu.Unlock()
	c.answer(k, err, cancelled)
	c.mu.Lock()
	c.answering--
	c.mu.Unlock()
	return c
}

// conclude makes the reply of a call from the reply of its script, or reports that the call
// needs more than that.
func (k *call) conclude() (more bool, err error) {
	defer func() { err = recovered(recover(), err) }()
	if more, err = k.body.halves().Answer(); err == nil && !more {
		_, err = k.reply() // a single decision is never too long, and cannot be shortened
	}
	return more, err
}

// Flush implements coord.Flusher.
func (c *conn) Flush() { c.flush() }

// abandon takes a call off the direct path, because its caller has gone or its deadline has
// passed, unless its script has a timeout of its own; the caller holds mu.
func (c *conn) abandon(k *call, why error) {
	h := k.body.halves()
	if h.OwnTime() || !h.Asked().Abandon(why) {
		return // it is or will be answered
	}
	c.server.direct.asked.Add(-1)
	c.server.opts.Telemetry.Direct(context.Background(), directStopped)
	c.resume(k)
	c.server.workers.wg.Done()
}

// resume lets a goroutine go on with a call that its first try did not answer, or not
// completely; the caller holds mu.
func (c *conn) resume(k *call) {
	k.state, k.resumed = stateRunning, true
	k.arm()
	c.server.workers.submit(k)
}

// goOn runs the rest of a prepared call.
func (k *call) goOn() (err error) {
	defer func() { err = recovered(recover(), err) }()
	ctx := k.ctx
	if s := k.conn.server; s.tracing {
		ctx = k.startSpan(ctx, s.opts.Telemetry.Tracer())
	}
	if k.turn != nil {
		// The error is dropped: if the deadline passes before its turn, Finish returns the same error.
		_ = k.turn.begin(ctx, k.piped)
		ctx = coord.InTurn(ctx, k.turn)
	}
	if err = k.body.halves().Finish(ctx); err == nil {
		_, err = k.reply()
	}
	return err
}

// sweep abandons the calls on the direct path whose deadline has passed.
func (s *Server) sweep() {
	for {
		select {
		case <-s.direct.kick:
		case <-s.direct.stop:
			return
		}
		ticker := time.NewTicker(sweepEvery)
		for idle := 0; idle < sweepsIdle; idle++ {
			select {
			case <-ticker.C:
			case <-s.direct.stop:
				ticker.Stop()
				return
			}
			if s.direct.asked.Load() > 0 {
				idle = 0
				s.sweepOnce(time.Now())
			}
		}
		ticker.Stop()
	}
}

func (s *Server) sweepOnce(now time.Time) {
	for _, c := range s.connections() {
		c.mu.Lock()
		for _, k := range c.calls {
			if k.state == stateAsked && !now.Before(k.due()) {
				c.abandon(k, context.DeadlineExceeded)
			}
		}
		c.mu.Unlock()
	}
}

// end stops the sweeper.
func (d *direct) end() {
	d.stopping.Do(func() { close(d.stop) })
	d.sweeping.Wait()
}
