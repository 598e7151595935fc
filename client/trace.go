package client

import (
	"context"
	"errors"

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

func (c *Client) span(ctx context.Context, method string) (context.Context, trace.Span) {
	name, ok := spanNames[method]
	if !ok {
		name = spanPrefix + method
	}
	return c.tracer.Start(ctx, name, asClient...)
}

// mark records the code of a failed call, and no text that may contain a key.
func mark(span trace.Span, err error) {
	if !span.IsRecording() {
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
