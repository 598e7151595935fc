package clienttest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
	"strings"
	"sync"

	"github.com/hashicorp/go-msgpack/v2/codec"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// The kinds of frames.
const (
	request      = 0
	response     = 1
	notification = 2
)

func handle() *codec.MsgpackHandle {
	h := &codec.MsgpackHandle{WriteExt: true, PositiveIntUnsigned: true}
	h.MapType = reflect.TypeFor[map[string]any]()
	h.SignedInteger = true
	return h
}

// conn is a connection of a client, which is a session. The sidecar's mutex guards its fields.
type conn struct {
	s         *Sidecar
	id        string
	hello     api.HelloParams
	cancels   map[int64]context.CancelFunc // of calls in flight, by msgid
	kinds     []string                     // of events.subscribe
	subs      map[string]func()            // by subscription id: ends the subscription
	subscribe int

	out  []byte        // frames that are not yet written
	more chan struct{} // signals that out has frames; capacity 1
	gone chan struct{} // closed when the connection has ended
}

// serve answers one connection until it ends.
func (s *Sidecar) serve(ctx context.Context, nc net.Conn) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	s.mu.Lock()
	s.session++
	cn := &conn{
		s: s, id: fmt.Sprintf("fake-%d", s.session), cancels: make(map[int64]context.CancelFunc), subs: make(map[string]func()),
		more: make(chan struct{}, 1), gone: make(chan struct{}),
	}
	s.conns[cn] = true
	s.mu.Unlock()
	closed := context.AfterFunc(ctx, func() { _ = nc.Close() })
	wg.Go(func() { cn.write(nc) })
	d := codec.NewDecoder(bufio.NewReader(nc), handle())
	for {
		var frame []any
		if d.Decode(&frame) != nil || !cn.take(ctx, &wg, frame) {
			break
		}
	}
	cancel() // before its leases are given back: that wakes its own waiting calls too, which then must take nothing
	s.mu.Lock()
	cn.end()
	s.mu.Unlock()
	close(cn.gone)
	wg.Wait()
	closed()
	_ = nc.Close()
}

// write writes queued frames. It runs on a goroutine of its own, so that a client that does not
// read does not block other clients.
func (cn *conn) write(nc net.Conn) {
	for {
		cn.s.mu.Lock()
		b := cn.out
		cn.out = nil
		cn.s.mu.Unlock()
		if len(b) > 0 {
			if _, err := nc.Write(b); err != nil {
				_ = nc.Close() // this ends the reader
				return
			}
			continue
		}
		select {
		case <-cn.more:
		case <-cn.gone:
			return
		}
	}
}

// send queues a frame, with the sidecar's mutex held.
func (cn *conn) send(frame ...any) {
	var b []byte
	if err := codec.NewEncoderBytes(&b, handle()).Encode(frame); err != nil {
		panic(fmt.Sprintf("clienttest: %v", err)) // cannot happen: results are structs of the contract
	}
	cn.out = append(cn.out, b...)
	select {
	case cn.more <- struct{}{}:
	default:
	}
}

func (cn *conn) notify(event string, params any) { cn.send(notification, event, []any{params}) }

// take handles one frame. It returns false if the frame is malformed.
func (cn *conn) take(ctx context.Context, wg *sync.WaitGroup, frame []any) bool {
	if len(frame) < 3 {
		return false
	}
	kind, _ := frame[0].(int64)
	var msgid int64
	rest := frame[1:]
	if kind == request {
		msgid, _ = frame[1].(int64)
		rest = frame[2:]
	}
	if len(rest) != 2 {
		return false
	}
	name, _ := rest[0].(string)
	list, _ := rest[1].([]any)
	if kind == notification && (name == api.RPCCancel.Name || name == api.CancelAlias) {
		cn.cancel(list)
		return true
	}
	c := &call{s: cn.s, cn: cn, msgid: msgid, answered: kind == request, name: name, given: map[string]any{}}
	if len(list) == 1 {
		c.given, _ = list[0].(map[string]any)
	}
	var cancel context.CancelFunc
	c.ctx, cancel = context.WithCancel(ctx)
	if c.answered {
		cn.s.mu.Lock()
		cn.cancels[msgid] = cancel
		cn.s.mu.Unlock()
	}
	run := func() {
		defer cancel()
		c.run()
	}
	if c.waits() {
		wg.Go(run)
	} else {
		run() // so that calls of one connection keep their order
	}
	return true
}

// cancel ends the calls with these msgids, which the client has cancelled.
func (cn *conn) cancel(msgids []any) {
	cn.s.mu.Lock()
	defer cn.s.mu.Unlock()
	for _, id := range msgids {
		n, _ := id.(int64)
		if stop := cn.cancels[n]; stop != nil {
			stop()
		}
	}
}

// end ends the subscriptions of the connection and gives back its leases, with the sidecar's mutex held.
func (cn *conn) end() {
	s := cn.s
	delete(s.conns, cn)
	for _, end := range cn.subs {
		end()
	}
	for _, l := range s.sortedLeases() {
		if l.on == cn || l.noun == "breaker" && l.from == cn {
			s.drop(l, "released")
		}
	}
	s.forget(func(r *reply) bool { return r.held == cn })
	s.wake()
}

// fault returns an error in the wire form that the connection asked for.
func (cn *conn) fault(err error) any {
	var e *api.Error
	if !errors.As(err, &e) {
		e = &api.Error{Code: api.Internal, Message: err.Error()}
	}
	if cn.hello.Errors == api.ErrorsMap {
		return e
	}
	kind := 0
	if e.Code.CallerFault() {
		kind = 1
	}
	return []any{kind, strings.TrimSuffix(e.Error(), ": ")}
}
