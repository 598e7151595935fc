package clientotel_test

import (
	"context"
	"slices"
	"sync"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// tracing is a tracer provider that keeps the spans that have ended. It replaces the
// OpenTelemetry SDK, which would otherwise become a dependency of every user of the client.
type tracing struct {
	noop.TracerProvider

	mu    sync.Mutex // guards what follows
	count uint64
	spans []*span
}

// span records the data of a span.
type span struct {
	noop.Span
	by     *tracing
	name   string
	kind   trace.SpanKind
	own    trace.SpanContext
	links  []trace.Link
	root   bool
	status status
}

// status is the outcome of a span.
type status struct {
	code codes.Code
	text string
}

type tracer struct {
	noop.Tracer
	by *tracing
}

func (r *tracing) Tracer(string, ...trace.TracerOption) trace.Tracer { return tracer{by: r} }

func (r *tracing) ended() []*span {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.spans)
}

// Start starts a sampled child of the context's span.
func (t tracer) Start(ctx context.Context, name string, o ...trace.SpanStartOption) (context.Context, trace.Span) {
	t.by.mu.Lock()
	t.by.count++
	n := t.by.count
	t.by.mu.Unlock()
	parent := trace.SpanContextFromContext(ctx)
	traceID := parent.TraceID()
	if !traceID.IsValid() {
		traceID = trace.TraceID{0xf0, byte(n)}
	}
	config := trace.NewSpanStartConfig(o...)
	s := &span{by: t.by, name: name, kind: config.SpanKind(), links: config.Links(), root: config.NewRoot(), own: trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: traceID, SpanID: trace.SpanID{0xf0, byte(n)}, TraceFlags: trace.FlagsSampled, TraceState: parent.TraceState(),
	})}
	return trace.ContextWithSpan(ctx, s), s
}

func (s *span) SpanContext() trace.SpanContext { return s.own }

func (s *span) IsRecording() bool { return true }

func (s *span) SetStatus(code codes.Code, text string) { s.status = status{code, text} }

func (s *span) End(...trace.SpanEndOption) {
	s.by.mu.Lock()
	defer s.by.mu.Unlock()
	s.by.spans = append(s.by.spans, s)
}
