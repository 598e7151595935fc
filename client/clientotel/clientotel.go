// Package clientotel traces a client of the sidecar by OpenTelemetry: each call has a span, and so
// does each message of a stream that the program processes. The sidecar's spans are children of
// the span of the call.
//
//	c, err := client.Dial(ctx, client.Options{Tracer: clientotel.New(nil)})
//
// Its invariant: no span has a text that a user sent, such as a key or a name. It sets up no
// SDK and no exporter: the provider decides where spans are sent.
package clientotel

import (
	"context"
	"reflect"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

// scope is the instrumentation scope of the spans.
const scope = "github.com/coxswain-sidecar/coxswain/client"

const spanPrefix = "coxswain."

// askAgain is the time after which a global provider that starts no spans is asked again: it may
// begin to start spans, without a notice, when a tracer attaches to the process from outside. When
// the program sets another global provider, that is used at once.
const askAgain = time.Second

var asClient = []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindClient)}

// spanNames saves a concatenation per call.
var spanNames = func() map[string]string {
	names := make(map[string]string)
	for _, s := range api.Methods() {
		names[s.Name] = spanPrefix + s.Name
	}
	return names
}()

// New makes a tracer that uses a provider; nil = the global one of package otel, even if the
// program sets it later.
func New(tp trace.TracerProvider) client.Tracer {
	t := &tracer{epoch: time.Now()}
	if tp == nil {
		tp = otel.GetTracerProvider()
		if reflect.ValueOf(tp).Kind() == reflect.Pointer { // only a pointer can always be compared
			t.global = tp
		}
	}
	t.Tracer = tp.Tracer(scope)
	return t
}

type tracer struct {
	trace.Tracer
	epoch time.Time
	// global is the global provider when the tracer was made; nil = the program gave a provider.
	global trace.TracerProvider
	// silent is the time since epoch until which StartCall does not ask global for spans.
	silent atomic.Int64
}

// StartCall implements client.Tracer. It avoids spans that record nothing, because each costs
// three allocations and most programs do not trace.
func (t *tracer) StartCall(ctx context.Context, method string) (context.Context, bool) {
	if t.global != nil && int64(time.Since(t.epoch)) < t.silent.Load() && otel.GetTracerProvider() == t.global {
		return ctx, false
	}
	name, ok := spanNames[method]
	if !ok {
		name = spanPrefix + method
	}
	inside, span := t.Start(ctx, name, asClient...)
	// An SDK's provider makes a new id for each span, also for one that it does not sample.
	if t.global != nil && !span.IsRecording() && span.SpanContext().Equal(trace.SpanContextFromContext(ctx)) {
		t.silent.Store(int64(time.Since(t.epoch) + askAgain))
	}
	return inside, true
}

// StartMessage implements client.Tracer.
func (t *tracer) StartMessage(ctx context.Context, traceparent string) (context.Context, bool) {
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindConsumer), trace.WithNewRoot()}
	if traceparent != "" {
		from := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": traceparent})
		if publisher := trace.SpanContextFromContext(from); publisher.IsValid() {
			options = append(options, trace.WithLinks(trace.Link{SpanContext: publisher}))
		}
	}
	ctx, _ = t.Start(ctx, spanPrefix+"stream.process", options...)
	return ctx, true
}

// End implements client.Tracer.
func (t *tracer) End(ctx context.Context, failed string) {
	span := trace.SpanFromContext(ctx)
	if failed != "" && span.IsRecording() {
		span.SetStatus(codes.Error, failed)
	}
	span.End()
}

// TraceContext implements client.Tracer.
func (t *tracer) TraceContext(ctx context.Context) (traceparent, tracestate string) {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return "", ""
	}
	var k carrier
	propagation.TraceContext{}.Inject(ctx, &k)
	return k.traceparent, k.tracestate
}

// carrier receives the headers that a propagator writes.
type carrier struct{ traceparent, tracestate string }

func (k *carrier) Get(string) string { return "" }
func (k *carrier) Keys() []string    { return nil }
func (k *carrier) Set(key, value string) {
	switch key {
	case "traceparent":
		k.traceparent = value
	case "tracestate":
		k.tracestate = value
	}
}
