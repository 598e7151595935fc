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
// connection. A call that is not answered so goes on, on a goroutine of its own, from how
// its first try has ended.

// direct is what the calls on the direct path of a server have in common.
type direct struct {
	asked atomic.Int64 // how many are under way
	crowd coord.Crowd

	kick     chan struct{} // wakes the sweeper
	stop     chan struct{} // ends it
	stopping sync.Once
	sweeping sync.WaitGroup
}

const (
	// sweepEvery is how often calls on the direct path are looked through for those whose
	// time is up: so late may such a call be answered.
	sweepEvery = 20 * time.Millisecond
	// sweepsIdle is after how many sweeps without a call the sweeper goes to sleep.
	sweepsIdle = 50
	// shortDeadline is the time below which a call's deadline is too near for the sweeper.
	shortDeadline = 5 * sweepEvery
)

// Why a call goes the direct path or not; labels of a metric.
const (
	directAnswered  = "answered"  // by the first try of its script
	directKnown     = "known"     // without Redis
	directAlone     = "alone"     // it was alone, and a hand-off costs more than it saves
	directOrder     = "order"     // it has to wait for a call ahead of it
	directElsewhere = "elsewhere" // more than one script decides about it
	directTraced    = "traced"    // its trace is sampled
	directDeadline  = "deadline"  // its deadline is near
	directDown      = "down"      // Redis is not up, or refuses
	directFailed    = "failed"    // its first try was not answered
	directMore      = "more"      // it was, and there is more to do than to answer
	directStopped   = "stopped"   // it was cancelled, or its time was up
)

// ask has a call go the direct path. False = it has to be carried out the other way, from
// where it was prepared if it was.
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
			_, err = k.reply() // an answer that is known at once is short
		}
		c.answerAsked(k, err)
		return directKnown
	}
	return c.submit(k)
}

// follows reports whether all calls ahead were begun, so that the call may look at what is
// in this process.
func (c *conn) follows(k *call) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return k.may(follow)
}

func (k *call) prepareHalves() (p coord.Prepared, err error) {
	defer func() { err = recovered(recover(), err) }()
	return k.body.halves().Prepare(k.caller())
}

// answerAsked answers a call that was registered, while its connection is read.
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
		// What was prepared is not prepared again, and has to be completed even if its
		// caller goes away.
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
	c.server.workers.wg.Add(1) // the reader is among them
	if c.server.direct.asked.Add(1) == 1 {
		select {
		case c.server.direct.kick <- struct{}{}:
		default: // it is awake
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

// conclude makes the reply of a call out of its script's answer, or reports that there is
// more to do.
func (k *call) conclude() (more bool, err error) {
	defer func() { err = recovered(recover(), err) }()
	if more, err = k.body.halves().Answer(); err == nil && !more {
		_, err = k.reply() // one decision is never too long, and cannot be shortened
	}
	return more, err
}

// Flush implements coord.Flusher.
func (c *conn) Flush() { c.flush() }

// abandon takes a call off the direct path, since nobody waits for it or its time is up,
// unless its script runs on its own time; the caller holds mu.
func (c *conn) abandon(k *call, why error) {
	h := k.body.halves()
	if h.OwnTime() || !h.Asked().Abandon(why) {
		return // it is being answered, or will be
	}
	c.server.direct.asked.Add(-1)
	c.server.opts.Telemetry.Direct(context.Background(), directStopped)
	c.resume(k)
	c.server.workers.wg.Done()
}

// resume has a goroutine go on with a call whose first try was not answered, or not all of
// it; the caller holds mu.
func (c *conn) resume(k *call) {
	k.state, k.resumed = stateRunning, true
	k.arm()
	c.server.workers.submit(k)
}

// goOn carries out the rest of a call that was prepared.
func (k *call) goOn() (err error) {
	defer func() { err = recovered(recover(), err) }()
	ctx := k.ctx
	if s := k.conn.server; s.tracing {
		ctx = k.startSpan(ctx, s.opts.Telemetry.Tracer())
	}
	if k.turn != nil {
		// If the time is up before it is its turn, the script has the same error.
		_ = k.turn.begin(ctx, k.piped)
		ctx = coord.InTurn(ctx, k.turn)
	}
	if err = k.body.halves().Finish(ctx); err == nil {
		_, err = k.reply()
	}
	return err
}

// sweep abandons the calls on the direct path whose time is up.
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
