package telemetry_test

import (
	"context"
	"testing"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

func recording(tb testing.TB) *telemetry.Telemetry {
	tb.Helper()
	mp := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
	t, err := telemetry.New(telemetry.Off, mp, false)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// hot records what one rate limit call records.
var hot = map[string]func(context.Context, *telemetry.Telemetry){
	"RPC": func(ctx context.Context, t *telemetry.Telemetry) {
		t.RPC(ctx, "ratelimit.acquire", "OK", 100*time.Microsecond)
	},
	"Script": func(ctx context.Context, t *telemetry.Telemetry) {
		t.Script(ctx, "ratelimit_token_bucket", "ok", 100*time.Microsecond)
	},
	"Decision": func(ctx context.Context, t *telemetry.Telemetry) { t.Decision(ctx, "site", "allowed", .5) },
	"Span": func(ctx context.Context, t *telemetry.Telemetry) {
		_, span := t.Tracer().Start(ctx, "coxswain.ratelimit.acquire")
		span.End()
	},
}

func TestTheHotPathAllocatesNothing(t *testing.T) {
	tel := recording(t)
	for name, record := range hot {
		if n := testing.AllocsPerRun(1000, func() { record(t.Context(), tel) }); n != 0 {
			t.Errorf("%s: %v allocations a record", name, n)
		}
	}
}

func BenchmarkRecord(b *testing.B) {
	tel := recording(b)
	for name, record := range hot {
		b.Run(name, func(b *testing.B) {
			ctx := b.Context()
			b.ReportAllocs()
			for b.Loop() {
				record(ctx, tel)
			}
		})
	}
}
