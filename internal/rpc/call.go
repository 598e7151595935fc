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

// A call is one request or notification of a known method, while it is in flight.
// It is the part of an exchange that does not depend on the method's types.
type call struct {
	entry *entry
	body  body
	conn  *conn
	meta  metadata
	print string // the fingerprint, once fingerprint has made it
	// itemFailed is the method value report, kept here so that it is not allocated for each call.
	itemFailed func(*api.Error, error)
	// then is the method value answered, kept for the same reason; after is the function that it was given.
	then  func(func())
	after func()

	// id is the msgid, and idBytes its bytes on the wire; idLen 0 = a notification.
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

	// names are the names whose order the call keeps. places, which conn.mu guards, are its
	// places among the other calls of each name. turn is nil if no call is ahead of it.
	names  []uint64
	places []place
	single [1]place
	turn   *turn
	piped  bool // it keeps its order by being sent in order

	// prepared: its halves were prepared for the direct path. resumed: a goroutine goes on
	// where the direct path ended.
	prepared, resumed bool

	// state and cancelled are guarded by conn.mu.
	state     state
	cancelled bool
}

// class is how a call is counted, so that one kind never keeps out another.
type class uint8

const (
	classOther class = iota
	// classAcquiring: it acquires something.
	classAcquiring
	// classWaiting: it acquires something and may wait for it. Such calls run on
	// goroutines of their own, because they sleep nearly all the time.
	classWaiting
	classes
)

// classify returns the class of a decoded call.
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

// state is the stage that a call has reached.
type state uint8

const (
	stateNew state = iota
	// stateQueued: it is accepted, and no goroutine runs it yet.
	stateQueued
	// stateAsked: its script was submitted on the direct path, and no goroutine waits for the reply.
	stateAsked
	stateRunning
	// stateAnswered: it was answered while it was queued, and must not run.
	stateAnswered
)

// keptReply is the largest reply buffer that is kept when a call is reused.
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

// services returns what handlers call.
func (k *call) services() *Services { return &k.conn.server.services }

// caller describes the caller for package coord.
func (k *call) caller() coord.Caller {
	c := coord.Caller{
		Session: k.conn.session, HasDeadline: k.meta.hasDeadline, Traceparent: k.meta.traceparent, Log: k.conn.log, ItemFailed: k.itemFailed, Answered: k.then,
	}
	if k.meta.requestID != "" {
		c.RequestID, c.Fingerprint = k.meta.requestID, k.fingerprint()
	}
	return c
}

// answered sets f to be called when the call's reply is in the buffer.
func (k *call) answered(f func()) { k.after = f }

// fingerprint returns the fingerprint of the call, which is made once.
func (k *call) fingerprint() string {
	if k.print == "" {
		k.print = k.body.fingerprint()
	}
	return k.print
}

// due returns the call's deadline, which counts from when the call was read.
func (k *call) due() time.Time {
	limit := k.meta.deadline
	if !k.meta.hasDeadline {
		limit = k.conn.server.opts.DefaultDeadline + k.body.wait()
	}
	return k.started.Add(limit)
}

// arm gives the call a context that ends at its deadline. If the call was already stopped,
// the context has ended. Once the call is in calls, others may stop it: the caller then holds mu.
func (k *call) arm() {
	k.ctx, k.cancel = context.WithDeadline(context.Background(), k.due())
	if k.cancelled {
		k.cancel()
	}
}

// stop ends the call early, because its client no longer waits for it; the caller holds mu.
func (k *call) stop() {
	k.cancelled = true
	switch {
	case k.state == stateAsked:
		k.conn.abandon(k, context.Canceled)
	case k.cancel != nil:
		k.cancel()
	}
}

// run runs a call that was queued, and answers it.
func (k *call) run() {
	if !k.conn.begin(k) {
		k.cancel()
		k.body.release()
		return
	}
	err := k.ctx.Err() // its deadline may have passed while it waited for a worker
	switch {
	case k.resumed: // even after the deadline, because its script may have run
		err = k.goOn()
	case err == nil:
		err = k.invokeInTurn()
	}
	k.cancel()
	k.conn.finish(k, err)
}

// invokeInTurn waits for the call's turn and then invokes it.
func (k *call) invokeInTurn() error {
	ctx, err := k.inOrder(k.ctx)
	if err != nil {
		return err
	}
	return k.invoke(ctx)
}

// inOrder waits until the calls ahead allow this one to run, and returns the context to
// run it with.
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

// invoke runs the handler and encodes its result, or returns its error.
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

// launch runs a call that may wait, as run does, but without a goroutine while the call
// waits. The call may have ended when launch returns.
func (k *call) launch() {
	c, w := k.conn, &k.conn.server.workers
	if !c.begin(k) {
		k.cancel()
		k.body.release()
		w.wg.Done()
		return
	}
	var ended atomic.Bool // because a panic may follow the end
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
	c.mu.Lock()                         // because others may cancel the call
	if err := k.ctx.Err(); err != nil { // its deadline may have passed while it waited for a goroutine
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
			_, err = k.reply() // the result of a method that waits cannot be shortened
		}
		end(err)
	})
}

// reply encodes the result of a request. It reports whether the call must run again, for a
// shorter result.
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

// tooLarge is the error of a call whose result exceeds the frame limit, which also bounds
// clients, and cannot be shortened.
func tooLarge(size, most int) error {
	return &api.Error{Code: api.FailedPrecondition, Message: fmt.Sprintf(
		"the result has %d bytes, and limits.max_frame_bytes is %d: ask for less, or raise it in the sidecar's configuration", size, most)}
}

// begun returns the part of a response before the error and the result.
func (k *call) begun() []byte {
	return append(append(k.out[:0], 0x94, 1), k.idBytes[:k.idLen]...)
}

// fail encodes an error as the call's reply, logs its cause, and returns its code.
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

// report logs the cause of an internal error, which is not sent to the caller, and keeps the error for
// inspect.snapshot.
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

// end records the call and releases it for reuse.
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

// startSpan starts the call's span, if the sampler selects it, with the client's span as its parent.
func (k *call) startSpan(ctx context.Context, tr trace.Tracer) context.Context {
	if k.span != nil { // the direct path has already started it
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

// The errors of calls that are refused before they run. Those of notifications are only counted.
var (
	errOverloaded       = coord.Plain(api.Overloaded)
	errNotANotification = &api.Error{Code: api.InvalidRequest, Message: "the method cannot be called as a notification"}
)

// allowed checks what does not depend on params.
func (k *call) allowed() error {
	s := k.conn.server
	switch {
	case k.entry.Admin && !s.admin(k.conn.uid):
		return &api.Error{Code: api.PermissionDenied, Message: k.entry.Name +
			": socket.admin in the configuration switches admin methods off or restricts them to other uids"}
	case !k.request() && !k.entry.Notify:
		return errNotANotification
	default:
		return nil
	}
}
