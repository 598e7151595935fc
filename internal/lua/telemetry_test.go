package lua_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lock"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// observed is a runner whose spans and metrics are recorded.
type observed struct {
	*lua.Runner
	spans  *tracetest.SpanRecorder
	reader *metric.ManualReader
	tracer trace.Tracer
}

func observe(t *testing.T, url string, recordKeys bool, sample sdktrace.Sampler) observed {
	t.Helper()
	o := observed{spans: tracetest.NewSpanRecorder(), reader: metric.NewManualReader()}
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(o.spans), sdktrace.WithSampler(sample))
	tel, err := telemetry.New(tp, metric.NewMeterProvider(metric.WithReader(o.reader)), recordKeys)
	require.NoError(t, err)
	o.Runner = luatest.Open(t, lua.Options{URL: url, Telemetry: tel})
	o.tracer = tp.Tracer("test")
	require.NoError(t, luatest.UntilUp(t, o.Runner))
	o.spans.Reset()
	return o
}

// last returns the last span that has ended, with its attributes by name.
func (o observed) last(t *testing.T) (sdktrace.ReadOnlySpan, map[attribute.Key]any) {
	t.Helper()
	ended := o.spans.Ended()
	require.NotEmpty(t, ended)
	span, attrs := ended[len(ended)-1], map[attribute.Key]any{}
	for _, a := range span.Attributes() {
		attrs[a.Key] = a.Value.AsInterface()
	}
	return span, attrs
}

func TestScriptSpanIsAChildWithWhatWasDecided(t *testing.T) {
	t.Parallel()
	o := observe(t, redis.Embedded, false, sdktrace.AlwaysSample())
	ctx, parent := o.tracer.Start(luatest.Deadline(t), "rpc")
	_, err := take(ctx, o.Runner, "secret-key", 2)
	require.NoError(t, err)
	span, attrs := o.last(t)
	require.Equal(t, "lua.ratelimit_token_bucket", span.Name())
	require.Equal(t, parent.SpanContext().SpanID(), span.Parent().SpanID())
	require.Equal(t, trace.SpanKindClient, span.SpanKind())
	require.Equal(t, map[attribute.Key]any{
		"db.system.name": "redis", "db.operation.name": "EVALSHA", "db.stored_procedure.name": "ratelimit_token_bucket",
		"coxswain.keys": int64(2), "coxswain.attempt": int64(1), "coxswain.decision": "allowed", "coxswain.remaining": int64(1),
	}, attrs)

	in := bucket("secret-key", 2)
	in.Cost = 2
	_, err = lua.Run(ctx, o.Runner, ratelimit.TokenBucketScript, in, lua.StoredReply{Key: "i", Fingerprint: "f"})
	require.NoError(t, err)
	_, attrs = o.last(t)
	require.Equal(t, "denied", attrs["coxswain.decision"])
	require.Equal(t, int64(3), attrs["coxswain.keys"])

	for _, want := range []string{"acquired", "busy"} {
		_, err = lua.Run(ctx, o.Runner, lock.AcquireScript, lock.AcquireIn{Lock: "l", LineKeys: lease.LineKeysOf("l"), Token: want, TTLMS: 60_000}, lua.StoredReply{})
		require.NoError(t, err)
		_, attrs = o.last(t)
		require.Equal(t, want, attrs["coxswain.decision"])
	}

	_, errs := lua.Batch(ctx, o.Runner, lock.GetScript, make([]lock.GetIn, 3))
	require.NoError(t, errs[0])
	span, attrs = o.last(t)
	require.Equal(t, "lua.lock_get", span.Name())
	require.Equal(t, int64(3), attrs["db.operation.batch.size"])
}

func TestReplayIsMarkedOnItsSpan(t *testing.T) {
	t.Parallel()
	o := observe(t, redis.Embedded, false, sdktrace.AlwaysSample())
	for _, want := range []any{nil, true} {
		_, err := lua.Run(luatest.Deadline(t), o.Runner, ratelimit.TokenBucketScript, bucket("k", 2), lua.StoredReply{Key: "i", Fingerprint: "f"})
		require.NoError(t, err)
		_, attrs := o.last(t)
		require.Equal(t, want, attrs["coxswain.replayed"])
	}
}

func TestKeyTextIsRecordedOnlyWhenAskedFor(t *testing.T) {
	t.Parallel()
	for _, record := range []bool{false, true} {
		o := observe(t, redis.Embedded, record, sdktrace.AlwaysSample())
		_, err := take(luatest.Deadline(t), o.Runner, "secret-key", 2)
		require.NoError(t, err)
		span, attrs := o.last(t)
		if record {
			require.Equal(t, []string{"secret-key", "secret-keypace"}, attrs["coxswain.key_names"])
			continue
		}
		for _, a := range span.Attributes() {
			require.NotContains(t, a.Value.String(), "secret-key")
		}
	}
}

func TestFailedSpanSaysItsKindOnly(t *testing.T) {
	t.Parallel()
	a := startActor(t)
	o := observe(t, a.url, false, sdktrace.AlwaysSample())
	a.mu.Lock()
	a.part = []string{"hang up", "ERR boom at 10.0.0.1"}
	a.mu.Unlock()
	for _, want := range []string{"maybe_executed", "error"} {
		_, err := take(luatest.Deadline(t), o.Runner, "k", 2)
		require.Error(t, err)
		span, attrs := o.last(t)
		require.Equal(t, want, attrs["error.type"])
		require.Equal(t, sdktrace.Status{Code: codes.Error, Description: want}, span.Status())
		require.Empty(t, span.Events())
	}
}

func TestNoSpanUnderAParentThatIsNotSampled(t *testing.T) {
	t.Parallel()
	o := observe(t, redis.Embedded, false, sdktrace.AlwaysSample()) // this sampler would sample a child
	ctx := trace.ContextWithSpanContext(luatest.Deadline(t), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1},
	}))
	_, err := take(ctx, o.Runner, "k", 2)
	require.NoError(t, err)
	require.Empty(t, o.spans.Ended())
}

// total returns a counter's or histogram's count by one label.
func (o observed) total(t *testing.T, name, label string) map[string]int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(t, o.reader.Collect(context.Background(), &all))
	got := map[string]int64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != name {
				continue
			}
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					v, _ := p.Attributes.Value(attribute.Key(label))
					got[v.AsString()] += p.Value
				}
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					v, _ := p.Attributes.Value(attribute.Key(label))
					got[v.AsString()] += int64(p.Count)
				}
			}
		}
	}
	return got
}

func TestTriesAndReloadsAreCounted(t *testing.T) {
	t.Parallel()
	a := startActor(t)
	o := observe(t, a.url, false, sdktrace.NeverSample())
	before := o.total(t, "coxswain.script.duration", "outcome")
	a.mu.Lock()
	a.part = []string{"NOSCRIPT gone", "LOADING wait", "BUSY wait"}
	a.mu.Unlock()
	_, err := take(luatest.Deadline(t), o.Runner, "k", 2)
	require.NoError(t, err)
	require.Equal(t, map[string]int64{"noscript": 1, "loading": 1, "busy": 1}, o.total(t, "coxswain.script.retries", "reason"))
	require.Equal(t, map[string]int64{"": 1}, o.total(t, "coxswain.script.reloads", ""))
	after := o.total(t, "coxswain.script.duration", "outcome")
	require.EqualValues(t, 3, after["error"]-before["error"])
	require.EqualValues(t, 1, after["ok"]-before["ok"])
}
