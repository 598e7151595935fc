package rpc_test

import (
	"context"
	"testing"

	"github.com/coxswain-sidecar/coxswain/client/api"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/rpc"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// traced returns a telemetry and the recorder of its spans.
func traced(t testing.TB) (*telemetry.Telemetry, *tracetest.SpanRecorder) {
	t.Helper()
	r := tracetest.NewSpanRecorder()
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r))
	tel, err := telemetry.New(tp, metricnoop.NewMeterProvider(), false)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, tp.Shutdown(context.Background())) })
	return tel, r
}

const (
	traceID = "0af7651916cd43dd8448eb211c80319c"
	spanID  = "b7ad6b7169203331"
)

func TestACallHasASpanUnderItsClients(t *testing.T) {
	t.Parallel()
	tel, spans := traced(t)
	g := newGate()
	p := serve(t, rpc.Options{Telemetry: tel}, g.method("gate.wait")).dial(t)
	g.open <- nil
	p.must("gate.wait", m{"_traceparent": "00-" + traceID + "-" + spanID + "-01", "_tracestate": "a=b"})
	inner := trace.SpanContextFromContext(<-g.entered)
	p.alive() // the span ends after its reply was sent, maybe even after the reply to this call
	eventually(t, "the span has ended", func() bool { return len(spans.Ended()) == 2 })

	s := span(t, spans, "coxswain.gate.wait")
	require.Equal(t, trace.SpanKindServer, s.SpanKind())
	require.Equal(t, traceID, s.SpanContext().TraceID().String())
	require.Equal(t, spanID, s.Parent().SpanID().String())
	require.True(t, s.Parent().IsRemote())
	require.Equal(t, "b", s.SpanContext().TraceState().Get("a"))
	require.Equal(t, s.SpanContext().SpanID(), inner.SpanID(), "the handler's spans are its children")
	require.Contains(t, s.Attributes(), attribute.String("rpc.method", "gate.wait"))

	root := span(t, spans, "coxswain.session.ping")
	require.False(t, root.Parent().IsValid())
}

func TestAnUnsampledClientMakesNoSpan(t *testing.T) {
	t.Parallel()
	tel, spans := traced(t)
	p := serve(t, rpc.Options{Telemetry: tel}).dial(t)
	p.must("session.ping", m{"_traceparent": "00-" + traceID + "-" + spanID + "-00"})
	p.must("session.ping", m{"_traceparent": "garbage"})
	eventually(t, "one span has ended", func() bool { return len(spans.Ended()) > 0 })
	require.Len(t, spans.Ended(), 1)
}

func TestFailuresAreMarkedInSpans(t *testing.T) {
	t.Parallel()
	tel, spans := traced(t)
	g := newGate()
	p := serve(t, rpc.Options{Telemetry: tel}, g.method("gate.wait")).dial(t)
	for _, c := range []struct {
		err    error
		code   string
		status codes.Code
	}{
		{&coord.Error{Code: api.Unavailable, Err: context.Canceled}, "UNAVAILABLE", codes.Error},
		{&coord.Error{Code: api.NotFound, Err: context.Canceled}, "NOT_FOUND", codes.Unset},
	} {
		spans.Reset()
		g.open <- c.err
		_, err := p.call("gate.wait")
		require.Contains(t, err, c.code)
		eventually(t, "the span has ended", func() bool { return len(spans.Ended()) == 1 })
		s := span(t, spans, "coxswain.gate.wait")
		require.Equal(t, c.status, s.Status().Code)
		require.Contains(t, s.Attributes(), attribute.String("error.type", c.code))
	}
}

func span(t testing.TB, r *tracetest.SpanRecorder, name string) sdktrace.ReadOnlySpan {
	t.Helper()
	for _, s := range r.Ended() {
		if s.Name() == name {
			return s
		}
	}
	t.Fatalf("no span %s", name)
	return nil
}
