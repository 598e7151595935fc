package client

import (
	"context"
	"errors"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// Tracer makes the spans of a client, and gives its calls their trace context. Package clientotel
// implements it for OpenTelemetry. Many goroutines use it at once.
type Tracer interface {
	// StartCall starts the span of a call, as a child of the span of ctx, and returns a
	// context that has it. It returns ctx and false if it starts no span.
	StartCall(ctx context.Context, method string) (context.Context, bool)
	// StartMessage starts the span for the processing of a message of a stream, and returns a
	// context that has it. The span is not a child of the span of ctx. It has a link to the
	// publisher's span, which traceparent identifies; empty = the publisher had none.
	StartMessage(ctx context.Context, traceparent string) (context.Context, bool)
	// End ends the span that StartCall or StartMessage started. Failed is empty if it succeeded;
	// else it is the code of the error, or nack for a message. It never contains text from a user.
	End(ctx context.Context, failed string)
	// TraceContext returns the W3C trace context of the span of ctx; empty = ctx has no span.
	TraceContext(ctx context.Context) (traceparent, tracestate string)
}

// failure returns the code of a call's error, without its text, which may contain a key.
func failure(err error) string {
	var e *api.Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return string(e.Code)
	case errors.Is(err, context.DeadlineExceeded):
		return string(api.DeadlineExceeded)
	case errors.Is(err, context.Canceled):
		return string(api.Cancelled)
	default:
		return "unreachable"
	}
}
