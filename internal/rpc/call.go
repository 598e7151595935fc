package rpc

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// A call is one request or notification of a known method on its way. It is
// the part of an exchange that does not depend on the method's types.
type call struct {
	entry *entry
	body  body
	conn  *conn
	meta  metadata
	print string // the fingerprint, once it was asked for
	// itemFailed is report. It is made once, as it would else be made anew for each call.
	itemFailed func(*api.Error, error)
	// then is answered, made once as itemFailed is; after is what it was given.
	then  func(func())
	after func()

	// id is the msgid, and idBytes how it was written; none = a notification.
	id      integer
	idBytes [9]byte
	idLen   int

	started time.Time
	ctx     context.Context
	cancel  context.CancelFunc
	span    trace.Span
	// out is the reply while it is made.
	out []byte

	class class // among the calls of its connection
	size  int   // of its params, in bytes
	cost  int64 // what it holds of the server's budget

	// names are those whose order the call keeps, and places, guarded by conn.mu, where
	// it stands among the others of each; turn is nil when nothing is ahead of it.
	names  []uint64
	places []place
	single [1]place
	turn   *turn
	piped  bool // its own order is that of sending

	// prepared: the direct path keeps something of it. resumed: it goes on from where that
	// path ended.
	prepared, resumed bool

	// state and cancelled are guarded by conn.mu.
	state     state
	cancelled bool
}

// class is how a call is counted, so that one kind never keeps out another.
type class uint8

const (
	classOther class = iota
	// classAcquiring: it takes something.
	classAcquiring
	// classWaiting: it takes something and may wait for it. Such calls run on
	// goroutines of their own, since they sleep nearly all their time.
	classWaiting
	classes
)

// classify tells how a decoded call is counted.
func (k *call) classify() class {
	switch {
	case k.body.wait() > 0:
		return classWaiting
	case k.entry.acquires:
		return classAcquiring
	default:
		return classOther
	}
}

// state is how far a call has come.
type state uint8

const (
	stateNew state = iota
	// stateQueued: accepted, and no goroutine runs it so far.
	stateQueued
	// stateAsked: its script was submitted, and no goroutine waits for the answer.
	stateAsked
	stateRunning
	// stateAnswered: it was answered while it was queued, and must not be run.
	stateAnswered
)

// keptReply is the largest reply buffer that a call keeps for its next life.
const keptReply = 4 << 10

func (k *call) clear() {
	if cap(k.out) > keptReply {
		k.out = nil
	}
	k.conn, k.ctx, k.cancel, k.span, k.after = nil, nil, nil, nil, nil
	k.meta, k.print = metadata{}, ""
	k.places, k.turn = nil, nil
	k.prepared, k.resumed = false, false
	k.idLen, k.size, k.cost, k.state, k.cancelled = 0, 0, 0, stateNew, false
	k.out = k.out[:0]
}

func (k *call) request() bool { return k.idLen > 0 }

// services are what handlers call.
func (k *call) services() *Services { return &k.conn.server.services }

// caller is who calls, for package coord.
func (k *call) caller() coord.Caller {
	c := coord.Caller{
		Session: k.conn.session, HasDeadline: k.meta.hasDeadline, Traceparent: k.meta.traceparent, Log: k.conn.log, ItemFailed: k.itemFailed, Answered: k.then,
	}
	if k.meta.requestID != "" {
		c.RequestID, c.Fingerprint = k.meta.requestID, k.fingerprint()
	}
	return c
}

// answered has f called when the call's answer is in the buffer.
func (k *call) answered(f func()) { k.after = f }

// fingerprint is made once a call.
func (k *call) fingerprint() string {
	if k.print == "" {
		k.print = k.body.fingerprint()
	}
	return k.print
}

// due is when the call has to be answered, counted from when it was read.
func (k *call) due() time.Time {
	limit := k.meta.deadline
	if !k.meta.hasDeadline {
		limit = k.conn.server.opts.DefaultDeadline + k.body.wait()
	}
	return k.started.Add(limit)
}

// arm gives the call a context that ends when it is due, or has if the call was stopped
// before; others may stop it, so the caller holds mu once the call is in calls.
func (k *call) arm() {
	k.ctx, k.cancel = context.WithDeadline(context.Background(), k.due())
	if k.cancelled {
		k.cancel()
	}
}

// stop ends the call early, since its client does not wait for it any more; the caller
// holds mu.
func (k *call) stop() {
	k.cancelled = true
	switch {
	case k.state == stateAsked:
		k.conn.abandon(k, context.Canceled)
	case k.cancel != nil:
		k.cancel()
	}
}

// run carries out a call that was queued, and answers it.
func (k *call) run() {
	if !k.conn.begin(k) {
		k.cancel()
		k.body.release()
		return
	}
	err := k.ctx.Err() // it may have waited for a worker until its time was up
	switch {
	case k.resumed: // whatever the time: its script may have run
		err = k.goOn()
	case err == nil:
		err = k.invokeInTurn()
	}
	k.cancel()
	k.conn.finish(k, err)
}

// invokeInTurn is invoke once it is the call's turn.
func (k *call) invokeInTurn() error {
	ctx, err := k.inOrder(k.ctx)
	if err != nil {
		return err
	}
	return k.invoke(ctx)
}

// inOrder returns when the calls ahead let this one be carried out, with the context
// for that.
func (k *call) inOrder(ctx context.Context) (context.Context, error) {
	if k.turn == nil {
		return ctx, nil
	}
	if err := k.turn.begin(ctx, k.piped); err != nil {
		return nil, err
	}
	if k.piped || k.class == classWaiting {
		ctx = coord.InTurn(ctx, k.turn)
	}
	return ctx, nil
}

// invoke runs the handler and writes its result, or the error it returns.
func (k *call) invoke(ctx context.Context) (err error) {
	if s := k.conn.server; s.tracing {
		ctx = k.startSpan(ctx, s.opts.Telemetry.Tracer())
	}
	defer func() { err = recovered(recover(), err) }()
	if err := k.conn.server.ids.check(k); err != nil {
		return err
	}
	for again := true; again && err == nil; {
		if err = k.body.run(ctx); err == nil {
			again, err = k.reply()
		}
	}
	return err
}

// recovered is the error of a call that panicked with r, or err if it did not.
func recovered(r any, err error) error {
	if r == nil {
		return err
	}
	return fmt.Errorf("panic: %v\n%s", r, debug.Stack())
}

// launch carries out a call that may wait for its turn, as run does, and needs no
// goroutine while it waits. It may have ended when launch returns.
func (k *call) launch() {
	c, w := k.conn, &k.conn.server.workers
	if !c.begin(k) {
		k.cancel()
		k.body.release()
		w.wg.Done()
		return
	}
	var ended atomic.Bool // a panic may come after the end
	end := func(err error) {
		if ended.CompareAndSwap(false, true) {
			k.cancel()
			c.finish(k, err)
			w.wg.Done()
		}
	}
	failed := func(r any, stack []byte) { end(fmt.Errorf("panic: %v\n%s", r, stack)) }
	defer func() {
		if r := recover(); r != nil {
			failed(r, debug.Stack())
		}
	}()
	c.mu.Lock()                         // others cancel it
	if err := k.ctx.Err(); err != nil { // it may have waited for a goroutine until its time was up
		c.mu.Unlock()
		end(err)
		return
	}
	cancel := k.cancel
	parked := coord.NewParked(k.ctx, failed)
	k.cancel = func() {
		cancel()
		parked.End()
	}
	c.mu.Unlock()
	ctx, err := k.inOrder(parked)
	if err == nil {
		err = c.server.ids.check(k)
	}
	if err != nil {
		end(err)
		return
	}
	if c.server.tracing {
		ctx = k.startSpan(ctx, c.server.opts.Telemetry.Tracer())
	}
	k.body.start(ctx, func(err error) {
		if err == nil {
			_, err = k.reply() // no answer that is waited for can be shortened
		}
		end(err)
	})
}

// reply writes the result of a request. It reports whether the call is to be carried
// out again, for a shorter answer.
func (k *call) reply() (again bool, err error) {
	if !k.request() {
		return false, nil
	}
	k.out = append(k.begun(), 0xc0)
	k.out = k.body.appendResult(k.out)
	switch most := int(k.conn.server.opts.Limits.MaxFrameBytes); {
	case len(k.out) <= most:
		return false, nil
	case k.body.shorten(len(k.out), most):
		return true, nil
	default:
		return false, tooLarge(len(k.out), most)
	}
}

// tooLarge is the error of a call whose answer keeps not to the limit that clients
// are held to, and cannot be cut.
func tooLarge(size, most int) error {
	return &api.Error{Code: api.FailedPrecondition, Message: fmt.Sprintf(
		"the answer has %d bytes, and limits.max_frame_bytes is %d: ask for less, or raise it in the sidecar's configuration", size, most)}
}

// begun is the part of a response before error and result.
func (k *call) begun() []byte {
	return append(append(k.out[:0], 0x94, 1), k.idBytes[:k.idLen]...)
}

// fail writes an error as the call's reply, and logs what the caller is not told.
func (k *call) fail(err error, cancelled bool) string {
	e := coord.Wire(err)
	if cancelled {
		e = cancelledError(err)
	}
	k.report(e, err)
	if k.request() {
		k.out = append(appendError(k.begun(), e, k.conn.errorsAsMap.Load()), 0xc0)
	}
	return string(e.Code)
}

// report logs what the caller is not told, and remembers the error.
func (k *call) report(e *api.Error, err error) {
	if e.Code == api.Internal {
		if more, ok := k.conn.server.faults.take(k.entry.Name, time.Now()); ok {
			k.conn.log.LogAttrs(context.Background(), slog.LevelError, "call failed",
				slog.String("method", k.entry.Name), slog.Any("error", err), slog.Int("suppressed", more))
		}
	}
	k.conn.server.recent.failed(k.entry.Name, e)
}

// codeOK is the code of a call without an error, in metrics.
const codeOK = "OK"

// end records the call and gives it back for reuse.
func (k *call) end(code string) {
	ctx := context.Background()
	if k.span != nil && k.span.IsRecording() {
		if code != codeOK {
			k.span.SetAttributes(attribute.String("error.type", code))
			if !api.Code(code).CallerFault() {
				k.span.SetStatus(otelcodes.Error, code)
			}
		}
		k.span.End()
		ctx = trace.ContextWithSpan(ctx, k.span) // the duration's exemplar
	}
	took := time.Since(k.started)
	k.conn.record(ctx, k.entry.Name, k, code, took)
	k.conn.server.recent.took(k, took, code)
	k.body.release()
}

// startSpan asks the sampler, with the client's span as the parent.
func (k *call) startSpan(ctx context.Context, tr trace.Tracer) context.Context {
	if k.span != nil { // the direct path has asked
		return trace.ContextWithSpan(ctx, k.span)
	}
	if k.meta.traceparent != "" {
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{
			"traceparent": k.meta.traceparent, "tracestate": k.meta.tracestate,
		})
	}
	ctx, k.span = tr.Start(ctx, k.entry.span, k.entry.options...)
	return ctx
}

// Errors of calls that never begin. A notification's is only counted.
var (
	errOverloaded       = coord.Plain(api.Overloaded)
	errNotANotification = &api.Error{Code: api.InvalidRequest, Message: "the method is not run as a notification"}
)

// allowed checks what does not depend on params.
func (k *call) allowed() error {
	s := k.conn.server
	switch {
	case k.entry.Admin && !s.admin(k.conn.uid):
		return &api.Error{Code: api.PermissionDenied, Message: k.entry.Name +
			": admin methods are switched off, or bound to other uids, by socket.admin in the configuration"}
	case !k.request() && !k.entry.Notify:
		return errNotANotification
	default:
		return nil
	}
}
