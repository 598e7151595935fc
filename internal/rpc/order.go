package rpc

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// edited is the line of calls that edit, and of those that follow behind one.
var edited = coord.NameOf("edited")

// An order has the calls of a connection that are in flight, in lines: one line for
// each name, in the order in which its calls came. Whoever is first in its line goes
// ahead; a call whose order matters to others leaves its line when it has ended, or,
// where Redis keeps the order, lets the one behind go when it was submitted.
//
// A lone call costs a hash, and a pointer in a table that is part of the connection.
// Two names that have one hash are ordered too, which does no harm.
type order struct {
	tails [64]*place // the last of each line, by hash; those that share a slot are chained
	// edits are the calls in flight that edit, see coord.Method.
	edits int
}

// A place is that of a call in one line. Places are guarded by the connection's mu.
type place struct {
	name          uint64 // a hash of noun and name
	call          *call
	ahead, behind *place
	chained       *place // the last of another line, in the same slot of the table
	// sent is the pipeline that the call was submitted to, which keeps its order.
	sent any
	// started: the call is piped, and nothing is ahead of it that is not.
	started, failed bool
}

// A turn is a call's handle on its places. A script that is still in a batch may use
// it after the call has ended.
type turn struct {
	conn *conn
	call *call         // guarded by conn.mu; nil once it has left its lines
	wake chan struct{} // told when it may be its turn; guarded by conn.mu, and nil while nobody listens
}

// line puts a call at the end of the lines of its names; the caller holds mu.
func (c *conn) line(k *call) {
	k.names = k.body.names(k.names[:0])
	if len(k.names) == 0 {
		return
	}
	o := &c.order
	if k.entry.edits {
		o.edits++
		for _, last := range &o.tails {
			for ; last != nil; last = last.chained {
				k.names = append(k.names, last.name)
			}
		}
	}
	if k.entry.follows && o.edits > 0 {
		k.names = append(k.names, edited)
	}
	k.piped = k.entry.piped && !k.body.chosen()
	k.places = k.single[:0]
	if len(k.names) > 1 {
		k.places = make([]place, 0, len(k.names))
	}
	for _, name := range k.names {
		if !k.inLine(name) {
			k.places = append(k.places, place{name: name, call: k})
			o.join(&k.places[len(k.places)-1])
		}
	}
	if k.piped && k.may(follow) {
		k.start()
	}
	if k.class == classWaiting || !k.may(goAlone) {
		k.turn = &turn{conn: c, call: k}
	}
}

// inLine reports whether a call has its place there; a list may name one twice.
func (k *call) inLine(name uint64) bool {
	for i := range k.places {
		if k.places[i].name == name {
			return true
		}
	}
	return false
}

// join puts a place at the end of its line.
func (o *order) join(p *place) {
	at := &o.tails[p.name%uint64(len(o.tails))]
	for ; *at != nil; at = &(*at).chained {
		if last := *at; last.name == p.name {
			p.ahead, last.behind = last, p
			p.chained, last.chained = last.chained, nil
			break
		}
	}
	*at = p
}

// part takes a place out of its line.
func (o *order) part(p *place) {
	if p.ahead != nil {
		p.ahead.behind = p.behind
	}
	if p.behind != nil {
		p.behind.ahead = p.ahead
		return
	}
	at := &o.tails[p.name%uint64(len(o.tails))]
	for *at != p {
		at = &(*at).chained
	}
	*at = p.chained
	if p.ahead != nil {
		p.ahead.chained, *at = p.chained, p.ahead
	}
}

// unline takes a call out of its lines; the caller holds mu.
func (c *conn) unline(k *call) {
	if len(k.places) == 0 {
		return
	}
	for i := range k.places {
		p := &k.places[i]
		c.order.part(p)
		p.behind.nudge()
		*p = place{}
	}
	k.places = nil
	if k.entry.edits {
		c.order.edits--
	}
	if k.turn != nil {
		k.turn.call = nil
	}
}

// nudge has the call at a place look whether it is its turn.
func (p *place) nudge() {
	if p == nil || p.call.turn == nil {
		return
	}
	select {
	case p.call.turn.wake <- struct{}{}:
	default: // told already, or it does not listen
	}
}

// Whom a call may go behind of: nobody, or others that are piped and have started.
func goAlone(*place) bool      { return false }
func follow(ahead *place) bool { return ahead.started }

// may reports whether a call may go behind of all that are right ahead of it.
func (k *call) may(behind func(*place) bool) bool {
	for i := range k.places {
		if p := k.places[i].ahead; p != nil && !behind(p) {
			return false
		}
	}
	return true
}

// start lets the piped calls behind start too.
func (k *call) start() {
	for i := range k.places {
		k.places[i].started = true
		k.places[i].behind.nudge()
	}
}

// begin waits until the call may be carried out: what it looks at in this process
// must be as the calls ahead have left it. A piped call then has its turn again
// when its script is sent.
func (t *turn) begin(ctx context.Context, piped bool) error {
	if !piped {
		return t.until(ctx, goAlone)
	}
	err := t.until(ctx, follow)
	t.conn.mu.Lock()
	defer t.conn.mu.Unlock()
	if t.call != nil && err == nil {
		t.call.start()
	}
	return err
}

// Await implements coord.Turn.
func (t *turn) Await(ctx context.Context, via any) error {
	if via == nil {
		return t.until(ctx, goAlone)
	}
	return t.until(ctx, func(ahead *place) bool { return ahead.sent == via })
}

// until waits until the call may go behind of those ahead.
func (t *turn) until(ctx context.Context, behind func(*place) bool) error {
	for {
		t.conn.mu.Lock()
		ready := t.call == nil || t.call.may(behind)
		switch {
		case ready:
			t.wake = nil // who goes on to wait for hours need not keep it
		case t.wake == nil:
			t.wake = make(chan struct{}, 1)
		}
		wake := t.wake
		t.conn.mu.Unlock()
		if ready {
			return nil
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// each does something at each place of a call that has not ended.
func (t *turn) each(do func(*place)) {
	t.conn.mu.Lock()
	defer t.conn.mu.Unlock()
	if t.call == nil {
		return
	}
	for i := range t.call.places {
		do(&t.call.places[i])
	}
}

// Sent implements coord.Turn. Once failed, a call is passed by nobody.
func (t *turn) Sent(via any) {
	t.each(func(p *place) {
		if !p.failed && t.call.piped {
			p.sent = via
			p.behind.nudge()
		}
	})
}

// Failed implements coord.Turn.
func (t *turn) Failed() { t.each(func(p *place) { p.failed, p.sent = true, nil }) }

// Behind implements coord.Turn.
func (t *turn) Behind() (behind bool) {
	t.each(func(p *place) { behind = behind || p.ahead != nil && p.ahead.failed })
	return behind
}

// Answered implements coord.Turn: a call that waits holds nobody up once Redis
// knows that it does.
func (t *turn) Answered() {
	t.conn.mu.Lock()
	defer t.conn.mu.Unlock()
	if t.call != nil && t.call.class == classWaiting {
		t.conn.unline(t.call)
	}
}
