package client

import (
	"context"
	"errors"
	"reflect"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// scope is the instrumentation scope of the client's spans.
const scope = "github.com/coxswain-sidecar/coxswain/client"

var asClient = []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindClient)}

// spanNames saves a concatenation per call.
var spanNames = func() map[string]string {
	names := make(map[string]string)
	for _, s := range api.Methods() {
		names[s.Name] = spanPrefix + s.Name
	}
	return names
}()

const spanPrefix = "coxswain."

// spans starts the spans of calls.
type spans struct {
	tracer trace.Tracer
	// global is the provider of package otel that the client began with; nil = the program
	// gave one of its own.
	global trace.TracerProvider
	// silent is the time since the client's epoch until which global need not be asked.
	silent atomic.Int64
}

// askAgain is the pause between two questions to a global provider that starts no spans. It may
// begin to start some when a tracer attaches to the process from outside, and tells nobody.
// Another provider is seen at once.
const askAgain = time.Second

func (s *spans) init(own trace.TracerProvider) {
	if own == nil {
		own = otel.GetTracerProvider()
		if reflect.ValueOf(own).Kind() == reflect.Pointer { // so that it can be compared
			s.global = own
		}
	}
	s.tracer = own.Tracer(scope)
}

// start starts the span of a call; nil = nobody traces. A span that records nothing is
// three allocations, and most programs have no other.
func (s *spans) start(ctx context.Context, now time.Duration, method string) (context.Context, trace.Span) {
	if s.global != nil && int64(now) < s.silent.Load() && otel.GetTracerProvider() == s.global {
		return ctx, nil
	}
	name, ok := spanNames[method]
	if !ok {
		name = spanPrefix + method
	}
	inside, span := s.tracer.Start(ctx, name, asClient...)
	// A provider that samples makes a new id for each span, whether it records it or not.
	if s.global != nil && !span.IsRecording() && span.SpanContext().Equal(trace.SpanContextFromContext(ctx)) {
		s.silent.Store(int64(now + askAgain))
	}
	return inside, span
}

// mark records the code of a failed call, and no text that may contain a key.
func mark(span trace.Span, err error) {
	if span == nil || !span.IsRecording() {
		return
	}
	text := "unreachable"
	var e *api.Error
	switch {
	case errors.As(err, &e):
		text = string(e.Code)
	case errors.Is(err, context.DeadlineExceeded):
		text = string(api.DeadlineExceeded)
	case errors.Is(err, context.Canceled):
		text = string(api.Cancelled)
	}
	span.SetStatus(codes.Error, text)
}

// trace puts the span of ctx into the call's metadata.
func (cl *call) trace(ctx context.Context) {
	if trace.SpanContextFromContext(ctx).IsValid() {
		propagation.TraceContext{}.Inject(ctx, carrier{cl})
	}
}

// carrier is where a propagator writes.
type carrier struct{ cl *call }

func (k carrier) Get(string) string { return "" }
func (k carrier) Keys() []string    { return nil }
func (k carrier) Set(key, value string) {
	switch key {
	case "traceparent":
		k.cl.traceparent = value
	case "tracestate":
		k.cl.tracestate = value
	}
}
