package client_test

import (
	"context"
	"slices"
	"sync"
)

// tracing is a Tracer that keeps the spans that have ended. What a span is to its context is
// its trace context; the number in it counts spans.
type tracing struct {
	mu    sync.Mutex // guards what follows
	spans []span
	// silent makes StartCall start no span.
	silent bool
}

// span is what the client says of a call or a message.
type span struct {
	what, failed string
	parent       string // the traceparent around it, or, of a message, its publisher's
}

type spanKey struct{}

// within is a context with a span of the caller's.
func within(ctx context.Context, traceparent, tracestate string) context.Context {
	return context.WithValue(ctx, spanKey{}, [3]string{traceparent, tracestate})
}

func (r *tracing) StartCall(ctx context.Context, method string) (context.Context, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.silent {
		return ctx, false
	}
	parent, state := r.TraceContext(ctx)
	r.spans = append(r.spans, span{what: method, failed: "not ended", parent: parent})
	return within(ctx, "in-"+method, state), true
}

func (r *tracing) StartMessage(ctx context.Context, traceparent string) (context.Context, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spans = append(r.spans, span{what: "message", failed: "not ended", parent: traceparent})
	return within(ctx, "in-message", ""), true
}

func (r *tracing) End(ctx context.Context, failed string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	in, _ := r.TraceContext(ctx)
	for i := len(r.spans) - 1; i >= 0; i-- {
		if "in-"+r.spans[i].what == in && r.spans[i].failed == "not ended" {
			r.spans[i].failed = failed
			return
		}
	}
	r.spans = append(r.spans, span{what: "ended without a start: " + in})
}

func (r *tracing) TraceContext(ctx context.Context) (traceparent, tracestate string) {
	v, _ := ctx.Value(spanKey{}).([3]string)
	return v[0], v[1]
}

// of are the spans of a method, in the order in which they began.
func (r *tracing) of(what string) []span {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.spans), func(s span) bool { return s.what != what })
}
