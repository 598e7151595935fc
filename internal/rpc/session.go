package rpc

import (
	"context"
	"reflect"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// giveBackTime bounds giving back what a closed connection held. A lease that takes
// longer ends with its TTL.
const giveBackTime = 5 * time.Second

// end is called once, by the last reader of a closed connection. It gives back what
// the session held, on a context of its own.
func (c *conn) end() {
	c.buf = nil // frees the memory before what follows, which may take a while
	c.server.forget(c)
	c.subscriber.Close()
	ctx, cancel := context.WithTimeout(context.Background(), giveBackTime)
	defer cancel()
	c.session.End(ctx)
	c.server.services.Leases.Close(ctx, c.session)
}

// Notify implements coord.Outlet. If the client reads too slowly, it returns ToldFull, and the
// sender waits for room or counts what it drops.
func (c *conn) Notify(e *api.Spec, params any) coord.Told {
	t := compiled.of(e.Params)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return coord.ToldGone
	case len(c.out)+c.rest >= maxEventBytes:
		return coord.ToldFull
	}
	b := append(appendText([]byte{0x93, 2}, e.Name), 0x91)
	c.appendLocked(t.append(b, reflect.ValueOf(params)))
	if len(c.out) >= slowChunk { // otherwise a client that reads would look like one that does not
		c.flushLocked()
	}
	return coord.ToldSent
}

// WhenRoom implements coord.Outlet.
func (c *conn) WhenRoom(f func()) {
	c.mu.Lock()
	if !c.closed && len(c.out)+c.rest >= maxEventBytes {
		c.wantRoom = append(c.wantRoom, f)
		c.mu.Unlock()
		return
	}
	c.mu.Unlock()
	f()
}

// tellRoom calls the functions that wait for room; the caller holds mu.
func (c *conn) tellRoom() {
	if len(c.wantRoom) == 0 || !c.closed && len(c.out)+c.rest >= maxEventBytes {
		return
	}
	all := c.wantRoom
	c.wantRoom = nil
	c.server.workers.wg.Go(func() {
		for _, f := range all {
			f()
		}
	})
}

var lostParams = compiled.of(reflect.TypeFor[api.LostParams]())

// lost notifies the client that it has lost a lease. It never blocks.
func (c *conn) lost(l coord.Loss) {
	p := api.LostParams{Name: l.Name, Token: l.Token, Fence: coord.Fence(l.Fence), Reason: l.Reason}
	b := append(appendText([]byte{0x93, 2}, l.Noun+".lost"), 0x91)
	c.append(lostParams.append(b, reflect.ValueOf(p)))
	c.flush()
}

// cancelCall carries out rpc.cancel. Its params are [msgid], a map with msgid as for other
// methods, or a map with id as clients of the Language Server Protocol send it. It returns
// false if they cannot be read. It is no error if the call has ended already.
func (c *conn) cancelCall(params []byte) bool {
	id, ok := cancelled(params)
	if ok {
		c.cancel(id)
	}
	return ok
}

// cancelled reads the msgid, which may be beyond 2^53, unlike an integer parameter.
func cancelled(params []byte) (integer, bool) {
	c := cursor{b: params}
	if c.kind() == kindArray {
		if _, n := c.enter(); n != 1 {
			return integer{}, false
		}
	}
	if c.kind() != kindMap {
		return c.integer()
	}
	_, n := c.enter()
	for range n {
		key, _, ok := c.text()
		if !ok {
			c.skip()
		}
		if string(key) == "msgid" || string(key) == "id" {
			return c.integer()
		}
		c.skip()
	}
	return integer{}, false
}

// cancel ends a call's context. A call that is still queued is answered here, since it
// may be a long time until a goroutine is free for it.
func (c *conn) cancel(id integer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.calls[id]
	if !ok {
		return
	}
	queued := k.state == stateQueued
	k.stop()
	if !queued {
		return
	}
	k.state = stateAnswered
	c.leave(k)
	b := append([]byte{0x94, 1}, k.idBytes[:k.idLen]...)
	c.appendLocked(append(appendError(b, coord.Plain(api.Cancelled), c.errorsAsMap.Load()), 0xc0))
	c.record(k.ctx, k.entry.Name, k, string(api.Cancelled), time.Since(k.started))
}
