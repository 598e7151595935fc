package client

import (
	"fmt"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// eventQueue is how many events wait for OnEvent.
const eventQueue = 256

// Event is a notification of the sidecar.
type Event struct {
	// Method is its name, such as lock.lost.
	Method string
	// Params are its keys and values.
	Params map[string]any
}

// Draining returns when the pod of the sidecar ends, if the event is session.draining.
// Finish the current work and start no long work. Calls are possible until then.
func (e Event) Draining() (end time.Time, ok bool) {
	if e.Method != api.SessionDraining.Name {
		return time.Time{}, false
	}
	switch ms := e.Params["deadline_at_ms"].(type) {
	case int64:
		return time.UnixMilli(ms), true
	case uint64:
		return time.UnixMilli(int64(ms)), true
	default:
		return time.Time{}, true
	}
}

// hear handles a notification on the reading goroutine, and must not block. A notification
// that this version does not know goes to OnEvent only.
func (cn *conn) hear(method string, params []byte) error {
	r := cursor{params}
	if n, ok := r.array(); !ok {
		r.b = params // a bare map
	} else if n == 0 {
		r.b = []byte{codeNil}
	}
	if known, err := cn.heard(method, r.b); err != nil {
		return fmt.Errorf("%w: %s: %w", errMalformed, method, err)
	} else if known {
		return nil
	}
	if losses[method] {
		var lost api.LostParams
		if err := decode(cn.dec, r.b, &lost); err != nil {
			return fmt.Errorf("%w: %s: %w", errMalformed, method, err)
		}
		cn.lost(lost)
	}
	if cn.c.event == nil {
		return nil
	}
	ev := Event{Method: method}
	if err := decode(cn.dec, r.b, &ev.Params); err != nil {
		return fmt.Errorf("%w: %s: %w", errMalformed, method, err)
	}
	cn.tell(ev)
	return nil
}

// tell queues an event for OnEvent, which is set. It never blocks.
func (cn *conn) tell(ev Event) {
	select {
	case cn.c.event <- ev:
	default:
		cn.c.o.Logger.Warn("an event was dropped: OnEvent is too slow", "method", ev.Method)
	}
}

// losses are the notifications that a lease is lost.
var losses = map[string]bool{
	api.LockLost.Name: true, api.SemaphoreLost.Name: true, api.PermitLost.Name: true, api.PoolLost.Name: true,
	api.QueueLost.Name: true, api.SeenLost.Name: true,
}

// lost ends the lease of a notification.
func (cn *conn) lost(p api.LostParams) {
	cn.mu.Lock()
	lk := cn.held[p.Token]
	delete(cn.held, p.Token)
	cn.mu.Unlock()
	if lk != nil {
		_ = lk.lose(p.Reason)
	}
}

// deliver calls OnEvent for each event until Close.
func (c *Client) deliver() {
	for {
		select {
		case ev := <-c.event:
			c.o.OnEvent(ev)
		case <-c.ctx.Done():
			return
		}
	}
}
