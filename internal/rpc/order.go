package rpc

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// edited is the name of the line of calls that edit rules, and of calls that follow behind such a call.
var edited = coord.NameOf("edited")

// An order keeps the calls in flight of a connection in lines: one line for each name,
// in the order in which its calls were read. The first call of a line may run. It leaves
// the line when it has ended. If Redis keeps the order, the call behind it may already be
// submitted when this one was.
//
// A lone call costs a hash, and a pointer in a table that is part of the connection.
// Two names with the same hash share a line, which is harmless.
type order struct {
	tails [64]*place // the last place of each line, by hash; lines with the same index are chained
	// edits counts the calls in flight that edit rules, see coord.Method.
	edits int
}

// A place is the place of a call in one line. The connection's mu guards places.
type place struct {
	name          uint64 // a hash of noun and name
	call          *call
	ahead, behind *place
	chained       *place // the last place of another line with the same index in the table
	// sent is the pipeline that the call was submitted to, which keeps its order.
	sent any
	// started: the call is piped, and so are all calls ahead of it.
	started, failed bool
}

// A turn is a call's handle on its places. A script that is still in a batch may use
// it after the call has ended.
type turn struct {
	conn *conn
	call *call         // guarded by conn.mu; nil once it has left its lines
	wake chan struct{} // filled when it may be the call's turn; guarded by conn.mu, nil while the call does not wait
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

// inLine reports whether a call already has a place in the line; a list may contain a name twice.
func (k *call) inLine(name uint64) bool {
	for i := range k.places {
		if k.places[i].name == name {
			return true
		}
	}
	return false
}

// join adds a place at the end of its line.
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

// part removes a place from its line.
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

// unline removes a call from its lines; the caller holds mu.
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

// nudge makes the call at a place check whether it is its turn.
func (p *place) nudge() {
	if p == nil || p.call.turn == nil {
		return
	}
	select {
	case p.call.turn.wake <- struct{}{}:
	default: // it was already woken, or it does not wait
	}
}

// The calls that a call may run behind: none, or others that are piped and have started.
func goAlone(*place) bool      { return false }
func follow(ahead *place) bool { return ahead.started }

// may reports whether a call may run behind all the calls directly ahead of it.
func (k *call) may(behind func(*place) bool) bool {
	for i := range k.places {
		if p := k.places[i].ahead; p != nil && !behind(p) {
			return false
		}
	}
	return true
}

// start marks a call as started, and then the piped calls behind it.
func (k *call) start() {
	for i := range k.places {
		k.places[i].started = true
		k.places[i].behind.nudge()
	}
}

// begin waits until the call may run: the calls ahead must have made their changes to
// state of this process. A piped call then waits for its turn once more before its
// script is sent.
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

// until waits until the call may run behind the calls ahead.
func (t *turn) until(ctx context.Context, behind func(*place) bool) error {
	for {
		t.conn.mu.Lock()
		ready := t.call == nil || t.call.may(behind)
		switch {
		case ready:
			t.wake = nil // a call that then waits for long need not keep the channel
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

// each calls a function for each place of a call, if the call has not ended.
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

// Sent implements coord.Turn. After a call has failed, no call overtakes it.
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

// Answered implements coord.Turn: a call that waits delays no other call once Redis
// has it in the waiting line.
func (t *turn) Answered() {
	t.conn.mu.Lock()
	defer t.conn.mu.Unlock()
	if t.call != nil && t.call.class == classWaiting {
		t.conn.unline(t.call)
	}
}
