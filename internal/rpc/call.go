package rpc

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
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
	k.conn, k.ctx, k.cancel, k.span = nil, nil, nil, nil
	k.meta, k.print = metadata{}, ""
	k.places, k.turn = nil, nil
	k.idLen, k.size, k.cost, k.state, k.cancelled = 0, 0, 0, stateNew, false
	k.out = k.out[:0]
}

func (k *call) request() bool { return k.idLen > 0 }

// services are what handlers call.
func (k *call) services() *Services { return &k.conn.server.services }

// caller is who calls, for package coord.
func (k *call) caller() coord.Caller {
	c := coord.Caller{Session: k.conn.session, HasDeadline: k.meta.hasDeadline}
	if k.meta.requestID != "" {
		c.RequestID, c.Fingerprint = k.meta.requestID, k.fingerprint()
	}
	return c
}

// fingerprint is made once a call.
func (k *call) fingerprint() string {
	if k.print == "" {
		k.print = k.body.fingerprint()
	}
	return k.print
}

// arm gives the call its time, counted from when it was read.
func (k *call) arm() {
	limit := k.meta.deadline
	if !k.meta.hasDeadline {
		limit = api.DefaultDeadlineMS*time.Millisecond + k.body.wait()
	}
	k.ctx, k.cancel = context.WithDeadline(context.Background(), k.started.Add(limit))
}

// run carries out a call that was queued, and answers it.
func (k *call) run() {
	if !k.conn.begin(k) {
		k.cancel()
		k.body.release()
		return
	}
	err := k.ctx.Err() // it may have waited for a worker until its time was up
	if err == nil {
		err = k.invokeInTurn()
	}
	k.cancel()
	k.conn.finish(k, err)
}

// invokeInTurn is invoke once it is the call's turn.
func (k *call) invokeInTurn() error {
	ctx := k.ctx
	if k.turn != nil {
		if err := k.turn.begin(ctx, k.piped); err != nil {
			return err
		}
		if k.piped || k.class == classWaiting {
			ctx = coord.InTurn(ctx, k.turn)
		}
	}
	return k.invoke(ctx)
}

// invoke runs the handler and writes its result, or the error it returns.
func (k *call) invoke(ctx context.Context) (err error) {
	if s := k.conn.server; s.tracing {
		ctx = k.startSpan(ctx, s.opts.Telemetry.Tracer())
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	if err := k.conn.server.ids.check(k); err != nil {
		return err
	}
	for {
		if err = k.body.run(ctx); err != nil || !k.request() {
			return err
		}
		k.out = append(k.begun(), 0xc0)
		k.out = k.body.appendResult(k.out)
		most := int(k.conn.server.opts.Limits.MaxFrameBytes)
		if len(k.out) <= most {
			return nil
		}
		if !k.body.shorten(len(k.out), most) {
			return tooLarge(len(k.out), most)
		}
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
	e := wireError(err)
	if cancelled {
		e = cancelledError(err)
	}
	k.report(e, err)
	if k.request() {
		k.out = append(appendError(k.begun(), e, k.conn.errorsAsMap.Load()), 0xc0)
	}
	return string(e.Code)
}

// itemError is what the caller is told of an item that failed alone.
func (k *call) itemError(err error) *api.ItemError {
	e := wireError(err)
	k.report(e, err)
	return &api.ItemError{Code: string(e.Code), Message: e.Message}
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
	k.conn.server.opts.Telemetry.RPC(ctx, k.entry.Name, code, took)
	k.conn.server.recent.took(k, took, code)
	k.body.release()
}

// startSpan asks the sampler, with the client's span as the parent.
func (k *call) startSpan(ctx context.Context, tr trace.Tracer) context.Context {
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
	errOverloaded       = plain(api.Overloaded)
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
