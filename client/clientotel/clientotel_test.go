package clientotel_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/coxswain-sidecar/coxswain/client/clientotel"
)

func parent(t *testing.T) (context.Context, trace.SpanContext) {
	t.Helper()
	state, err := trace.ParseTraceState("vendor=value")
	require.NoError(t, err)
	sc := trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled, TraceState: state,
	})
	return trace.ContextWithSpanContext(t.Context(), sc), sc
}

func TestACallIsAChildOfTheCallersSpan(t *testing.T) {
	t.Parallel()
	tp := &tracing{}
	tracer := clientotel.New(tp)
	ctx, caller := parent(t)
	inside, ok := tracer.StartCall(ctx, "session.ping")
	require.True(t, ok)
	traceparent, tracestate := tracer.TraceContext(inside)
	tracer.End(inside, "")
	span := tp.ended()[0]
	require.Equal(t, "coxswain.session.ping", span.name)
	require.Equal(t, trace.SpanKindClient, span.kind)
	require.Equal(t, caller.TraceID(), span.own.TraceID())
	require.Equal(t, status{}, span.status)
	require.Equal(t, fmt.Sprintf("00-%s-%s-01", span.own.TraceID(), span.own.SpanID()), traceparent)
	require.Equal(t, "vendor=value", tracestate)

	inside, _ = tracer.StartCall(ctx, "a.later_method")
	tracer.End(inside, "INVALID_ARGUMENT")
	require.Equal(t, "coxswain.a.later_method", tp.ended()[1].name)
	require.Equal(t, status{codes.Error, "INVALID_ARGUMENT"}, tp.ended()[1].status)
}

// The span of a message starts a new trace, and is linked to the span of its publisher.
func TestAMessageIsLinkedToItsPublisher(t *testing.T) {
	t.Parallel()
	tp := &tracing{}
	tracer := clientotel.New(tp)
	ctx, _ := parent(t)
	for _, publisher := range []string{"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "", "not a trace context"} {
		inside, ok := tracer.StartMessage(ctx, publisher)
		require.True(t, ok)
		tracer.End(inside, "nack")
	}
	spans := tp.ended()
	for _, s := range spans {
		require.Equal(t, "coxswain.stream.process", s.name)
		require.Equal(t, trace.SpanKindConsumer, s.kind)
		require.True(t, s.root)
		require.Equal(t, status{codes.Error, "nack"}, s.status)
	}
	require.Len(t, spans[0].links, 1)
	require.Equal(t, "0af7651916cd43dd8448eb211c80319c", spans[0].links[0].SpanContext.TraceID().String())
	require.Equal(t, "b7ad6b7169203331", spans[0].links[0].SpanContext.SpanID().String())
	require.Empty(t, spans[1].links)
	require.Empty(t, spans[2].links)
}

// The tracer uses the global provider as soon as it is set, although it was made before. The test runs
// in a process of its own, because other tests need the process without a global provider.
func TestCallsAreTracedOnceTheProgramTraces(t *testing.T) {
	t.Parallel()
	const alone = "CLIENTOTEL_TEST_ALONE"
	if os.Getenv(alone) == "" {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$")
		child.Env = append(os.Environ(), alone+"=1")
		out, err := child.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return
	}
	tracer := clientotel.New(nil)
	ctx, caller := parent(t)
	first, ok := tracer.StartCall(ctx, "session.ping")
	require.True(t, ok, "only its answer tells that the provider starts none")
	tracer.End(first, "")
	_, ok = tracer.StartCall(ctx, "session.ping")
	require.False(t, ok, "it is not asked again for a while")
	traceparent, _ := tracer.TraceContext(ctx)
	require.Equal(t, fmt.Sprintf("00-%s-%s-01", caller.TraceID(), caller.SpanID()), traceparent, "the caller's own is passed on")
	traceparent, tracestate := tracer.TraceContext(t.Context())
	require.Empty(t, traceparent+tracestate)

	tp := &tracing{}
	otel.SetTracerProvider(tp)
	inside, ok := tracer.StartCall(ctx, "session.ping")
	require.True(t, ok, "another provider is seen at once")
	tracer.End(inside, "")
	require.Equal(t, "coxswain.session.ping", tp.ended()[0].name)
}
