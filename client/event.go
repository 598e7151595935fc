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

// Draining returns when the pod of the sidecar is killed, if the event is session.draining.
// Until then calls are possible: finish the current work, and start no long work.
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

// notified handles a notification on the reading goroutine, and must not block. A notification
// that this version of the client does not know goes only to OnEvent.
func (cn *conn) notified(method string, params []byte) error {
	r := cursor{params}
	if n, ok := r.array(); !ok {
		r.b = params // a bare map
	} else if n == 0 {
		r.b = []byte{codeNil}
	}
	if known, err := cn.forSubscriber(method, r.b); err != nil {
		return fmt.Errorf("%w: %s: %w", errMalformed, method, err)
	} else if known {
		return nil
	}
	if losses[method] {
		var lost api.LostParams
		if err := decode(cn.dec, r.b, &lost); err != nil {
			return fmt.Errorf("%w: %s: %w", errMalformed, method, err)
		}
		if method == api.StreamLost.Name {
			cn.lostMessage(lost)
		} else {
			cn.lost(lost)
		}
	}
	if cn.c.event == nil {
		return nil
	}
	ev := Event{Method: method}
	if err := decode(cn.dec, r.b, &ev.Params); err != nil {
		return fmt.Errorf("%w: %s: %w", errMalformed, method, err)
	}
	cn.queueEvent(ev)
	return nil
}

// queueEvent queues an event for OnEvent, which is set. It never blocks.
func (cn *conn) queueEvent(ev Event) {
	select {
	case cn.c.event <- ev:
	default:
		cn.c.o.Logger.Warn("an event was dropped: OnEvent is too slow", "method", ev.Method)
	}
}

// losses are the notifications of the loss of a lease.
var losses = map[string]bool{
	api.LockLost.Name: true, api.SemaphoreLost.Name: true, api.PermitLost.Name: true, api.PoolLost.Name: true,
	api.QueueLost.Name: true, api.SeenLost.Name: true, api.StreamLost.Name: true,
}

// lost ends the lease that a notification reports as lost.
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
