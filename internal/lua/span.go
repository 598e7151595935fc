package lua

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

// decided is implemented by outputs that contain a decision. SpanAttrs returns the
// attributes that describe it, and never a key.
type decided interface{ SpanAttrs() []attribute.KeyValue }

// startSpan starts the span of a script. It returns nil under a parent that is not
// recorded, so that nothing is allocated for it.
func (r *Runner) startSpan(ctx context.Context, s *Source) (context.Context, trace.Span) {
	if parent := trace.SpanFromContext(ctx); parent.SpanContext().IsValid() && !parent.IsRecording() {
		return ctx, nil
	}
	under, span := r.tel.Tracer().Start(ctx, "lua."+s.Name, trace.WithSpanKind(trace.SpanKindClient))
	if !span.IsRecording() {
		return ctx, nil
	}
	return under, span
}

// endSpan ends the span of one run with its outcome.
func (r *Runner) endSpan(span trace.Span, c *call, value any, replayed bool, err error) {
	keys, _ := c.Args[2].(int)
	span.SetAttributes(
		attribute.String("db.system.name", "redis"),
		attribute.String("db.operation.name", "EVALSHA"),
		attribute.String("db.stored_procedure.name", c.s.Name),
		attribute.Int("coxswain.keys", keys),
		attribute.Int("coxswain.attempt", c.Tries),
	)
	if replayed {
		span.SetAttributes(attribute.Bool("coxswain.replayed", true))
	}
	if r.tel.RecordKeys {
		names := make([]string, 0, keys)
		for _, k := range c.Args[3 : 3+keys] {
			names = append(names, redis.TextOf(k))
		}
		span.SetAttributes(attribute.StringSlice("coxswain.key_names", names))
	}
	if d, ok := value.(decided); ok && err == nil {
		span.SetAttributes(d.SpanAttrs()...)
	}
	endWith(span, err)
}

// endBatchSpan ends the span of one pipeline with its outcome.
func (r *Runner) endBatchSpan(span trace.Span, s *Source, runs []batched, tries int) {
	span.SetAttributes(
		attribute.String("db.system.name", "redis"),
		attribute.String("db.operation.name", "EVALSHA"),
		attribute.String("db.stored_procedure.name", s.Name),
		attribute.Int("db.operation.batch.size", len(runs)),
		attribute.Int("coxswain.keys", len(s.Keys)*len(runs)),
		attribute.Int("coxswain.attempt", tries),
	)
	var first error
	for i := range runs {
		if first = runs[i].err; first != nil {
			break
		}
	}
	endWith(span, first)
}

// endWith ends a span and records the kind of its error. The text of the error
// stays in the log, since it may contain host names.
func endWith(span trace.Span, err error) {
	if err != nil {
		kind := "error"
		switch {
		case errors.Is(err, redis.ErrMaybeExecuted):
			kind = "maybe_executed"
		case errors.Is(err, redis.ErrUnavailable):
			kind = "unavailable"
		case errors.Is(err, ErrConflict):
			kind = "conflict"
		case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
			kind = "cancelled"
		}
		span.SetStatus(codes.Error, kind)
		span.SetAttributes(attribute.String("error.type", kind))
	}
	span.End()
}
