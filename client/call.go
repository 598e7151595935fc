package client

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-msgpack/v2/codec"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

const (
	defaultTimeout = api.DefaultDeadlineMS * time.Millisecond
	// maxSends is how many times a call is sent at most. A call whose connection breaks each time
	// may be the cause, and every broken connection loses the locks of other callers.
	maxSends = 4
)

// Call calls a method of the contract:
//
//	r, err := client.Call(ctx, c, api.LockGet, api.LockGetParams{Name: "orders"})
//
// Without a deadline in ctx the call has Options.Timeout in addition to its wait_ms. When ctx ends, the
// client asks the sidecar to cancel the call, and Call returns the error of ctx: at once,
// or within 10 ms if the call has no wait_ms and is the only one in flight on its
// connection. The sidecar may nevertheless have executed the call.
//
// Errors: an *api.Error from the sidecar, to which errors.Is applies with the codes of package api;
// *ConnectError if no sidecar was reached in time; the error of ctx; ErrClosed.
func Call[P, R any](ctx context.Context, c *Client, m api.Method[P, R], params P) (R, error) {
	both := struct { // one allocation
		params P
		result R
	}{params: params}
	err := c.invoke(ctx, invocation{method: m.Name, idempotent: m.Idempotent, params: &both.params, result: &both.result})
	return both.result, err
}

// CallRaw calls a method by its name. Params is a map, a struct of package api,
// or nil; result is a pointer to a map[string]any, to any, or to a struct, or
// nil. Metadata keys that params already has, such as _request_id, stay as they are.
func (c *Client) CallRaw(ctx context.Context, method string, params, result any) error {
	v := invocation{method: method, params: params, result: result}
	if s, ok := api.Lookup(method); ok {
		v.idempotent = s.Idempotent
	}
	v.given, _ = params.(map[string]any)
	return c.invoke(ctx, v)
}

// WithRequestID sets the request id (1 to 64 bytes) of the one call that uses ctx. The
// sidecars execute a call with that id once: a repeated call with the same id and
// parameters, also from another process, gets the result of the first. Without
// WithRequestID every call has a new id. The sidecar forgets an id after 150 s.
//
// With an empty id no id is sent, which saves Redis a write per call. A call that may have
// been executed when its connection broke is then not repeated. It fails with an
// *api.Error that is api.Unavailable and MaybeExecuted.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

type requestIDKey struct{}

// withoutRequestID is ctx for further calls: the id of WithRequestID belongs to one call, and
// another call with it is a conflict.
func withoutRequestID(ctx context.Context) context.Context {
	if id, _ := ctx.Value(requestIDKey{}).(string); id == "" {
		return ctx
	}
	return context.WithValue(ctx, requestIDKey{}, nil)
}

// invocation describes one call.
type invocation struct {
	method         string
	idempotent     bool
	params, result any
	given          map[string]any // params, if they are a map, which may contain metadata
	ownID          bool           // the call gets its own request id, not that of the context
	lease          *held          // the lease that the call acquires; nil = none
	opens          *opening       // the subscription that the call opens; nil = none
	on             *conn          // the only connection to use; nil = any
}

// invoke executes a call, on several connections if they break.
func (c *Client) invoke(ctx context.Context, v invocation) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", v.method, err)
	}
	now := c.now()
	if c.o.Tracer == nil {
		return c.do(ctx, v, now)
	}
	ctx, traced := c.o.Tracer.StartCall(ctx, v.method)
	err := c.do(ctx, v, now)
	if traced {
		c.o.Tracer.End(ctx, failure(err))
	}
	return err
}

// do executes a call.
func (c *Client) do(ctx context.Context, v invocation, now time.Duration) error {
	cl, err := c.newCall(v.method, v.params)
	if err == nil {
		cl.lease, cl.opens = v.lease, v.opens
		cl.describe(ctx, c, v)
		if cl.deadline = c.deadlineOf(ctx, now, cl.wait); cl.deadline <= now {
			err = errTooLate
		} else {
			err = c.carry(ctx, cl, v, now)
		}
		if err == nil {
			err = cl.decode(v.result)
		}
		c.free(cl)
	}
	if err != nil {
		return v.explain(err)
	}
	return nil
}

// explain turns an error into the one that the caller gets.
func (v *invocation) explain(err error) error {
	var reply *api.Error
	if !errors.As(err, &reply) {
		return fmt.Errorf("%s: %w", v.method, err)
	}
	if reply.Code == api.DeadlineExceeded {
		// The sidecar saw the deadline pass a moment before this client did. The caller gets
		// the same error in both cases.
		return fmt.Errorf("%w: %w", reply, context.DeadlineExceeded)
	}
	return err
}

// carry sends the call until a reply arrives.
func (c *Client) carry(ctx context.Context, cl *call, v invocation, now time.Duration) error {
	for sends := 0; ; {
		cn := v.on
		if cn == nil {
			var err error
			if cn, now, err = c.pick(ctx, now, cl.deadline); err != nil {
				return err
			}
		}
		err := cn.roundTrip(ctx, cl, now)
		if err == nil {
			return nil
		}
		var broken *brokenError
		if !errors.As(err, &broken) {
			return err
		}
		if c.ctx.Err() != nil {
			return ErrClosed
		}
		if broken.sent {
			sends++
		}
		if broken.sent && !v.idempotent && len(cl.id) == 0 && !cl.ownID {
			return &api.Error{
				Code: api.Unavailable, Retryable: true, Message: "maybe executed: " + broken.Error(),
				Details: map[string]any{api.DetailMaybeExecuted: true},
			}
		}
		if v.on != nil || sends == maxSends {
			return err
		}
		// The call may have ended with its connection.
		if now = c.now(); now >= cl.deadline {
			return errTooLate
		} else if err := ctx.Err(); err != nil {
			return ended(err)
		}
	}
}

// deadlineOf returns the deadline of a call that begins now, by the client's clock.
func (c *Client) deadlineOf(ctx context.Context, now, wait time.Duration) time.Duration {
	if at, ok := ctx.Deadline(); ok {
		return at.Sub(c.epoch)
	}
	return now + c.o.Timeout + wait
}

// call is a request that waits for its reply. It is reused.
type call struct {
	method string
	params []byte // encoded pairs
	pairs  int
	scrap  []byte // the encoder's output, which contains params

	// Metadata; empty = not sent.
	id                      []byte
	traceparent, tracestate string
	ownDeadline, ownID      bool // params has its own

	lease *held
	opens *opening
	wait  time.Duration // the call's wait_ms, which is added to its deadline

	enc *codec.Encoder
	dec *codec.Decoder

	deadline time.Duration // by the client's clock

	// These belong to the call's connection, and its mutex guards them until done.
	msgid  uint32
	queued bool   // it is in the queue and not sent
	counts bool   // the sidecar counts it as running
	late   *held  // the caller has gone: the lease to give back when the reply arrives
	gone   bool   // the caller has gone: the subscription of opens is ended when the reply arrives
	reply  []byte // error and result
	err    error
	next   *call         // of a list of calls
	done   chan struct{} // has a capacity of 1; filled when reply or err is set
}

// Every client has its own pool of calls: a channel must not move from one synctest bubble
// to another.

func blankCall() any {
	return &call{
		enc:  codec.NewEncoderBytes(new([]byte), handle),
		dec:  codec.NewDecoderBytes([]byte{codeNil}, handle),
		done: make(chan struct{}, 1),
	}
}

func (c *Client) newCall(method string, params any) (*call, error) {
	cl := c.calls.Get().(*call)
	cl.method = method
	if cl.write(params) {
		return cl, nil
	}
	cl.enc.ResetBytes(&cl.scrap)
	err := cl.enc.Encode(params)
	if err == nil {
		cl.params, cl.pairs, err = pairs(cl.scrap, params)
	}
	if err != nil {
		c.free(cl)
		return nil, err
	}
	return cl, nil
}

// write encodes params without the library, and sets cl.wait to their wait_ms. It reports
// false if the library must encode them.
func (cl *call) write(params any) (ok bool) {
	b := cl.scrap[:0]
	switch p := params.(type) {
	case map[string]any:
		cl.wait = waitIn(p)
		return false
	case *held:
		b, cl.pairs = p.append(b)
		ok = true
	case *renewal:
		b, cl.pairs = p.append(b)
		ok = true
	default:
		s, v := shapeOf(params)
		if s == nil {
			return false
		}
		cl.wait = s.waitOf(v)
		b, cl.pairs, ok = s.append(b, v)
	}
	cl.scrap, cl.params = b, b
	return ok
}

// free returns the call to the pool. No other goroutine may refer to it.
func (c *Client) free(cl *call) {
	// A large buffer is not kept after one large call.
	if cap(cl.scrap) > maxKept || cap(cl.reply) > maxKept {
		return
	}
	*cl = call{enc: cl.enc, dec: cl.dec, scrap: cl.scrap[:0], id: cl.id[:0], reply: cl.reply[:0], done: cl.done}
	c.calls.Put(cl)
}

// describe sets the call's metadata.
func (cl *call) describe(ctx context.Context, c *Client, v invocation) {
	_, cl.ownDeadline = v.given[api.MetaDeadlineMS]
	if _, ok := v.given[api.MetaTraceparent]; !ok && c.o.Tracer != nil {
		cl.traceparent, cl.tracestate = c.o.Tracer.TraceContext(ctx)
	}
	if _, cl.ownID = v.given[api.MetaRequestID]; cl.ownID {
		return
	}
	if id, ok := ctx.Value(requestIDKey{}).(string); ok && !v.ownID {
		cl.id = append(cl.id, id...)
	} else if !v.idempotent {
		cl.id = c.ids.next(cl.id)
	}
}

// append writes the request's frame.
func (cl *call) append(b []byte, msgid uint32, left time.Duration) []byte {
	b = append(b, 0x94, frameRequest)
	b = appendUint(b, uint64(msgid))
	b = appendText(b, cl.method)
	b = append(b, 0x91)
	pairs := cl.pairs
	for _, has := range [...]bool{!cl.ownDeadline, len(cl.id) > 0, cl.traceparent != "", cl.tracestate != ""} {
		if has {
			pairs++
		}
	}
	b = appendMap(b, pairs)
	b = append(b, cl.params...)
	if !cl.ownDeadline {
		// Rounded up: a sidecar may give up a moment late, but 0 would mean no deadline.
		ms := max((left+time.Millisecond-1)/time.Millisecond, 1)
		b = appendUint(appendText(b, api.MetaDeadlineMS), uint64(ms))
	}
	if len(cl.id) > 0 {
		b = appendText(appendText(b, api.MetaRequestID), cl.id)
	}
	if cl.traceparent != "" {
		b = appendText(appendText(b, api.MetaTraceparent), cl.traceparent)
	}
	if cl.tracestate != "" {
		b = appendText(appendText(b, api.MetaTracestate), cl.tracestate)
	}
	return b
}

func (cl *call) decode(result any) error {
	known := ""
	if cl.lease != nil {
		known = cl.lease.token // a grant repeats it
	}
	return decodeReply(cl.dec, cl.reply, result, known)
}

// requestIDs makes ids that are unique across all clients: 96 random bits for the client,
// and a counter.
type requestIDs struct {
	prefix string
	count  *atomic.Uint64
}

func newRequestIDs() requestIDs {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails: it ends the program instead
	return requestIDs{hex.EncodeToString(b[:]) + "-", new(atomic.Uint64)}
}

func (r requestIDs) next(b []byte) []byte {
	return strconv.AppendUint(append(b, r.prefix...), r.count.Add(1), 36)
}
