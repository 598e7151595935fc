package client

import (
	"context"
	"errors"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// Tracer makes the spans of a client, and says what goes with its calls. Package clientotel
// has the one of OpenTelemetry. It is used by many goroutines at once.
type Tracer interface {
	// StartCall starts the span of a call, as a child of the span of ctx, and returns a
	// context that has it. False = there is no span, and the context is ctx.
	StartCall(ctx context.Context, method string) (context.Context, bool)
	// StartMessage starts the span in which a message of a stream is dealt with, and returns a
	// context that has it. It is no child of the span of ctx; it is linked to that of its
	// publisher, which traceparent names if it is not empty.
	StartMessage(ctx context.Context, traceparent string) (context.Context, bool)
	// End ends the span that StartCall or StartMessage started. Failed is empty, or the code
	// of the error, nack for a message: never a text that may have what users sent.
	End(ctx context.Context, failed string)
	// TraceContext is the W3C trace context of the span of ctx; empty = there is none.
	TraceContext(ctx context.Context) (traceparent, tracestate string)
}

// failure names the error of a call without its text, which may contain a key.
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
